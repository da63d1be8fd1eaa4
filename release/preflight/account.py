"""The account and region that a stage is deployed to, and the templates that are to come there."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError

from release.preflight.clients import client
from release.preflight.once import Known, once
from release.preflight.running import RunningEndpoint, running_endpoints
from release.preflight.service_quotas import ServiceQuotas
from release.stack_template import stack_template
from release.tree import Template, Tree, templates

SUFFIXES = {"aws": "amazonaws.com", "aws-cn": "amazonaws.com.cn"}
"""Partition -> AWS::URLSuffix."""


class NotDeployed(Exception):
    """What was asked depends on a stack that is not deployed: its name is the message."""


class Unresolved(Exception):
    """What a template says is known only to CloudFormation."""


@dataclass(frozen=True)
class Caller:
    """Who asks: the account's number and the ARN, as STS gives them."""

    account: str
    arn: str

    @property
    def partition(self) -> str:
        """The partition of the account, such as "aws"."""
        return self.arn.split(":")[1]

    def pseudo_parameters(self, region: str) -> dict[str, str]:
        """Return what CloudFormation knows of every stack of the account in a region."""
        return {
            "AWS::AccountId": self.account,
            "AWS::Region": region,
            "AWS::Partition": self.partition,
            "AWS::URLSuffix": SUFFIXES.get(self.partition, "amazonaws.com"),
        }


@dataclass(frozen=True)
class Account:
    """What topics ask: AWS, through `session` in the stage's region, and the stage's assembly.

    `tree` is what is to be deployed; `assembly` the folder of its cloud assembly.
    """

    session: boto3.Session
    caller: Caller
    tree: Tree
    stage: str
    assembly: Path
    _clients: dict[str, Any] = field(default_factory=dict, repr=False)
    _resources: Known[dict[str, str] | None] = field(default_factory=dict, repr=False)
    _running: Known[dict[str, RunningEndpoint]] = field(default_factory=dict, repr=False)

    @property
    def region(self) -> str:
        """The stage's region."""
        return str(self.session.region_name)

    def client(self, service: str) -> Any:
        """Return a client in the stage's region."""
        if service not in self._clients:
            self._clients[service] = client(self.session, service)
        return self._clients[service]

    @cached_property
    def quotas(self) -> ServiceQuotas:
        """What Service Quotas says, each service asked once."""
        return ServiceQuotas(self.client("service-quotas"))

    @property
    def running(self) -> dict[str, RunningEndpoint]:
        """Every endpoint of the account in the region, by its name."""
        return once(self._running, "endpoints", lambda: running_endpoints(self.client("sagemaker")))

    @cached_property
    def templates(self) -> dict[str, Template]:
        """Stack -> template, of what is to be deployed."""
        return templates(self.assembly)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The artifacts of the cloud assembly, by their names."""
        found = json.loads((self.assembly / "manifest.json").read_text(encoding="utf-8"))
        artifacts: dict[str, Any] = found["artifacts"]
        return artifacts

    def resources(self, kind: str) -> Iterator[tuple[str, str, Any]]:
        """Yield stack, logical id and properties of the templates' resources of one type."""
        for stack, template in self.templates.items():
            for name, resource in template["Resources"].items():
                if resource["Type"] == kind:
                    yield stack, name, resource.get("Properties", {})

    def deployed(self, stack: str) -> dict[str, str]:
        """Return logical id -> physical id of a deployed stack. Raises `NotDeployed`.

        A stack under review, or whose creation failed, is one that has nothing yet.
        """
        found = once(self._resources, stack, lambda: self._asked_resources(stack))
        if found is None:
            raise NotDeployed(stack)
        return found

    def deployed_template(self, stack: str) -> Template | None:
        """Return the template that a stack was deployed with, None where it is not deployed."""
        try:
            self.deployed(stack)
        except NotDeployed:
            return None
        return stack_template(self.client("cloudformation"), stack)

    def text(self, value: Any, known: Mapping[str, str] | None = None) -> str:
        """Return what CloudFormation makes of a text of a template. Raises `Unresolved`.

        `known` has values of references by their logical ids, beside the pseudo parameters.
        """
        of = {**self.pseudo_parameters, **(known or {})}
        match value:
            case {"Ref": str(name)} if name in of:
                return of[name]
            case {"Fn::Join": [str(separator), list(parts)]}:
                return separator.join(self.text(part, known) for part in parts)
            case {"Fn::Sub": str(text)}:
                return re.sub(r"\$\{([^}!]+)\}", lambda it: self.text({"Ref": it[1]}, known), text)
            case dict() | list():
                raise Unresolved(json.dumps(value))
        return str(value)

    @property
    def pseudo_parameters(self) -> dict[str, str]:
        """What CloudFormation knows of every stack of the stage."""
        return self.caller.pseudo_parameters(self.region)

    def _asked_resources(self, stack: str) -> dict[str, str] | None:
        cloudformation = self.client("cloudformation")
        try:
            pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
            return {
                it["LogicalResourceId"]: it["PhysicalResourceId"]
                for page in pages
                for it in page["StackResourceSummaries"]
                if it.get("PhysicalResourceId") and it["ResourceStatus"] != "DELETE_COMPLETE"
            } or None
        except ClientError as error:
            # The code where there is no such stack, as `release.delivery` knows it.
            if error.response["Error"]["Code"] != "ValidationError":
                raise
            return None
