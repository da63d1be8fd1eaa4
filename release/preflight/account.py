"""The account and region that a stage is deployed to, and the templates to deploy."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
from botocore.exceptions import ClientError, NoCredentialsError

from release.preflight.clients import client
from release.preflight.running_endpoints import RunningEndpoint, running_endpoints
from release.preflight.service_quotas import ServiceQuotas
from release.stack_template import stack_template
from release.stage_resources import resources
from release.tree import Template, Tree, templates


class NoCredentials(Exception):
    """There are no valid credentials; the message is that of AWS or the SDK."""


@dataclass(frozen=True)
class Caller:
    """The caller's account and ARN, as STS gives them."""

    account: str
    arn: str


def caller(session: boto3.Session) -> Caller:
    """Return the caller. Raises `NoCredentials`, and `BotoCoreError` where AWS is not reached."""
    try:
        answer = client(session, "sts").get_caller_identity()
    except NoCredentialsError:
        raise NoCredentials("there are none: aws configure, or AWS_PROFILE") from None
    except ClientError as error:  # no permission is needed (STS API reference)
        region = session.region_name
        raise NoCredentials(
            f"{error.response['Error']['Message']} Or {region} is not enabled in this account: "
            f"aws account enable-region --region-name {region}"
        ) from None
    return Caller(answer["Account"], answer["Arn"])


@dataclass(frozen=True)
class Account:
    """What checks read: AWS through `session`, in the stage's region, and the stage's assembly.

    `tree` is what is to be deployed; `assembly` the folder of its cloud assembly.
    """

    session: boto3.Session
    caller: Caller
    tree: Tree
    stage: str
    assembly: Path
    _clients: dict[str, Any] = field(default_factory=dict, repr=False)
    _deployed: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)

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
        """The account's quotas."""
        return ServiceQuotas(self.client("service-quotas"))

    @cached_property
    def running(self) -> dict[str, RunningEndpoint]:
        """Every endpoint of the account in the region, by its name."""
        return running_endpoints(self.client("sagemaker"))

    @cached_property
    def templates(self) -> dict[str, Template]:
        """Stack -> template, of what is to be deployed."""
        return templates(self.assembly)

    def resources(self, resource_type: str) -> Iterator[tuple[str, str, Any]]:
        """Yield stack, logical id and properties of the templates' resources of a type."""
        for stack, template in self.templates.items():
            for name, properties in resources(template, resource_type):
                yield stack, name, properties

    def deployed(self, stack: str) -> dict[str, str]:
        """Return logical id -> physical id of a stack, nothing of one that is not deployed."""
        if stack not in self._deployed:
            self._deployed[stack] = self._list_resources(stack)
        return self._deployed[stack]

    def deployed_template(self, stack: str) -> Template | None:
        """Return the template that a stack was deployed with, None where it has no resource."""
        deployed = self.deployed(stack)
        return stack_template(self.client("cloudformation"), stack) if deployed else None

    def _list_resources(self, stack: str) -> dict[str, str]:
        pages = self.client("cloudformation").get_paginator("list_stack_resources")
        try:
            return {
                summary["LogicalResourceId"]: summary["PhysicalResourceId"]
                for page in pages.paginate(StackName=stack)
                for summary in page["StackResourceSummaries"]
                if summary.get("PhysicalResourceId")
                and summary["ResourceStatus"] != "DELETE_COMPLETE"
            }
        except ClientError as error:
            if error.response["Error"]["Code"] != "ValidationError":  # there is no such stack
                raise
            return {}


@contextmanager
def account_of(tree: Tree, stage: str) -> Iterator[Account]:
    """Give the account of a stage, with the stage's assembly, for the length of the `with` block.

    Raises `CheckoutError`, `NotSynthesised`, `NoCredentials` and `BotoCoreError`.
    """
    session = boto3.Session(region_name=tree.stage(stage).region)
    identity = caller(session)
    with TemporaryDirectory(prefix="preflight-") as folder:
        tree.synthesise(stage, to=Path(folder))
        yield Account(session, identity, tree, stage, Path(folder))
