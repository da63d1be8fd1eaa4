"""What CloudFormation has deployed of a stage."""

from dataclasses import dataclass
from typing import Self

import boto3

from release.review.assemblies import Synthesis
from release.stack_template import stack_template
from release.tree import Template

GONE = "DELETE_COMPLETE"
PATH = "aws:cdk:path"


@dataclass(frozen=True)
class Deployed:
    """The templates that the stacks of one stage were deployed with."""

    stage: str
    templates: dict[str, Template]

    @classmethod
    def of(cls, session: boto3.Session, stage: str, other_stages: tuple[str, ...] = ()) -> Self:
        """Read the stacks in the region of `session` that a CDK app made and the stage names.

        The names of `other_stages` may begin alike.
        """
        cloudformation = session.client("cloudformation")
        longer = tuple(f"{other}-" for other in other_stages if other.startswith(f"{stage}-"))
        templates = {}
        for page in cloudformation.get_paginator("describe_stacks").paginate():
            for stack in page["Stacks"]:
                name = stack["StackName"]
                if stack["StackStatus"] == GONE or not name.startswith(f"{stage}-"):
                    continue
                if longer and name.startswith(longer):
                    continue
                try:
                    template = stack_template(cloudformation, name) or {}
                except ValueError:  # YAML, which no CDK app writes
                    continue
                resources = template.get("Resources", {}).values()
                if any(PATH in resource.get("Metadata", {}) for resource in resources):
                    templates[name] = template
        return cls(stage, templates)

    def stages(self) -> list[str]:
        """Return the stage, where a stack of it is deployed."""
        return [self.stage] if self.templates else []

    def synth(self, _: str) -> Synthesis:
        """Return the templates of the stage."""
        return Synthesis(self.templates)
