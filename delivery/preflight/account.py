"""The AWS account of a stage, and the templates to deploy to the account."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
from botocore.exceptions import ClientError, NoCredentialsError

from delivery.preflight.clients import client
from delivery.preflight.running_endpoints import RunningEndpoint, running_endpoints
from delivery.preflight.service_quotas import ServiceQuotas
from release.checkout import Checkout
from release.templates import Template, resources, templates


class NoCredentials(Exception):
    """Credentials are missing or invalid; the message is from AWS."""


@dataclass(frozen=True)
class Caller:
    """The caller's account and ARN (STS GetCallerIdentity)."""

    account: str
    arn: str


def caller(session: boto3.Session) -> Caller:
    """Return the caller. Raise `NoCredentials`, or `BotoCoreError` if AWS cannot be reached."""
    try:
        identity = client(session, "sts").get_caller_identity()
    except NoCredentialsError:
        raise NoCredentials("none found: run aws configure, or set AWS_PROFILE") from None
    except ClientError as error:  # the call needs no permission (STS API reference)
        region = session.region_name
        raise NoCredentials(
            f"{error.response['Error']['Message']} Or {region} is not enabled in this account: "
            f"aws account enable-region --region-name {region}"
        ) from None
    return Caller(identity["Account"], identity["Arn"])


@dataclass(frozen=True)
class Account:
    """The account of a stage; AWS's answers are cached.

    `session` is in the stage's region, `tree` the checkout to deploy, `assembly` the folder of its
    cloud assembly.
    """

    session: boto3.Session
    caller: Caller
    tree: Checkout
    stage: str
    assembly: Path
    _clients: dict[str, Any] = field(default_factory=dict, repr=False)
    _physical_ids: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)

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
    def running_endpoints(self) -> dict[str, RunningEndpoint]:
        """All endpoints of the account in the region, by name."""
        return running_endpoints(self.client("sagemaker"))

    @cached_property
    def templates(self) -> dict[str, Template]:
        """Stack -> template, in the assembly."""
        return templates(self.assembly)

    def resources(self, resource_type: str) -> Iterator[tuple[str, str, Any]]:
        """Yield stack, logical id and properties of each resource of a type in the templates."""
        for stack, template in self.templates.items():
            for name, properties in resources(template, resource_type):
                yield stack, name, properties

    def physical_ids(self, stack: str) -> dict[str, str]:
        """Return logical id -> physical id of the resources in a stack; empty without a stack."""
        if stack not in self._physical_ids:
            self._physical_ids[stack] = self._list_physical_ids(stack)
        return self._physical_ids[stack]

    def _list_physical_ids(self, stack: str) -> dict[str, str]:
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
            if error.response["Error"]["Code"] != "ValidationError":  # the stack does not exist
                raise
            return {}


@contextmanager
def account_of(tree: Checkout, stage: str) -> Iterator[Account]:
    """Provide the account of a stage, with the stage's assembly, during the `with` block.

    Raise `CheckoutError`, `NotSynthesised`, `NoCredentials` and `BotoCoreError`.
    """
    session = boto3.Session(region_name=tree.stage(stage).region)
    identity = caller(session)
    with TemporaryDirectory(prefix="preflight-") as folder:
        tree.synthesise(stage, to=Path(folder))
        yield Account(session, identity, tree, stage, Path(folder))
