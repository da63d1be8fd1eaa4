"""What CloudFormation has deployed of a stage, and what it says that a change would do."""

import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import ClientError, WaiterError

from release.preflight.answers import DENIED, why
from release.review.access_analyzer import access_said
from release.review.assemblies import Synthesis
from release.stack_template import stack_template
from release.tree import NotSynthesised, Template

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

LARGEST = 51_200
"""Bytes of a template that CreateChangeSet takes without a bucket
(https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html)."""

GONE = "DELETE_COMPLETE"
PATH = "aws:cdk:path"
NO_CHANGE = ("didn't contain changes", "No updates are to be performed")


class Refused(Exception):
    """There is no change set, and this is CloudFormation's reason, or that it was not asked."""


@dataclass(frozen=True)
class Deployed:
    """The stacks of one stage in the region of `session`.

    A stack is the stage's if its name begins with it and a CDK app made it; the names of
    `other_stages` may begin alike. `refused` has a line for every change set that CloudFormation
    did not make, or that the caller may not ask for.
    """

    session: boto3.Session
    stage: str
    other_stages: tuple[str, ...] = ()
    refused: list[str] = field(default_factory=list)

    @cached_property
    def cloudformation(self) -> "CloudFormationClient":
        """CloudFormation in the stage's region."""
        return self.session.client("cloudformation")

    def stages(self) -> list[str]:
        """Return the stage, where a stack of it is deployed."""
        return [self.stage] if self._templates else []

    def synth(self, stage: str) -> Synthesis:
        """Return the templates that the stacks were deployed with."""
        if stage != self.stage:
            raise NotSynthesised(f"what is deployed of {stage} was not asked for")
        return Synthesis(self._templates)

    def change_sets(self, after: dict[str, Template]) -> dict[str, Any]:
        """Return what CloudFormation says of each stack, in change sets made and deleted for that.

        Left out are stacks without a change, new ones, those that go, templates too large for a
        request, what the caller may not ask for, and what CloudFormation refuses, such as an import
        of what is deployed together with it: there, the CDK's knowledge of properties decides.
        """
        found = {}
        for name in self._templates:
            body = json.dumps(after.get(name), separators=(",", ":"))
            if name in after and len(body.encode()) <= LARGEST:
                try:
                    described = self._change_set(name, body)
                except Refused as error:
                    self.refused.append(f"{name}: {error}")
                    continue
                if described is not None:
                    found[name] = described
        return found

    def access_said(self, after: dict[str, Template]) -> list[str]:
        """Return what IAM Access Analyzer says of the policies that differ from the deployed."""
        return access_said(self.session, self._templates, after)

    @cached_property
    def _templates(self) -> dict[str, Template]:
        pages = self.cloudformation.get_paginator("describe_stacks").paginate()
        names = (
            it["StackName"] for page in pages for it in page["Stacks"] if it["StackStatus"] != GONE
        )
        stacks = sorted(_of_stage(names, self.stage, self.other_stages))
        found = {name: self._template(name) for name in stacks}
        return {name: template for name, template in found.items() if template is not None}

    def _template(self, stack: str) -> Template | None:
        """Return a stack's template, None where no CDK app made it."""
        try:
            template = stack_template(self.cloudformation, stack) or {}
        except ValueError:
            return None
        resources = template.get("Resources", {}).values()
        return template if any(PATH in it.get("Metadata", {}) for it in resources) else None

    def _change_set(self, stack: str, body: str) -> dict[str, Any] | None:
        """Return the description of a change set, None without a change. Raises `Refused`."""
        name = f"review-{uuid.uuid4().hex[:12]}"
        try:
            self.cloudformation.create_change_set(
                StackName=stack,
                ChangeSetName=name,
                TemplateBody=body,
                Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
            )
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in DENIED:
                raise Refused(f"not asked: {why(error)}") from None
            if code != "ValidationError":
                raise
            raise Refused(error.response["Error"]["Message"]) from None
        try:
            waiter = self.cloudformation.get_waiter("change_set_create_complete")
            waiter.wait(
                StackName=stack, ChangeSetName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 120}
            )
            pages = self.cloudformation.get_paginator("describe_change_set")
            return dict(pages.paginate(StackName=stack, ChangeSetName=name).build_full_result())
        except WaiterError as error:
            reason = str(error.last_response.get("StatusReason", error))
            if any(it in reason for it in NO_CHANGE):
                return None
            raise Refused(reason) from None
        finally:
            self.cloudformation.delete_change_set(StackName=stack, ChangeSetName=name)


def _of_stage(names: Iterable[str], stage: str, others: Iterable[str]) -> Iterator[str]:
    longer = [f"{it}-" for it in others if it.startswith(f"{stage}-")]
    for name in names:
        if name.startswith(f"{stage}-") and not name.startswith(tuple(longer)):
            yield name
