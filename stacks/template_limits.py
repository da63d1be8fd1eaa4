"""What CloudFormation takes of a template."""

import json
from collections.abc import Iterator
from pathlib import Path

from aws_cdk import Acknowledgment, App, Validations
from aws_cdk.cx_api import CloudAssembly

import checked_yaml

MAX_RESOURCES = 500
MAX_BYTES = 1_000_000
"""CloudFormation user guide, cloudformation-limits: resources of a template, and "1 MB" of one that
is passed in an S3 object, as the cdk CLI passes it: with its indentation."""

RULE_OF_RESOURCES = "CloudFormation-Validate::F0007"


def take_limits_over(app: App) -> None:
    """Have the CDK leave the number of resources to `check_templates`, which names a stage's key.

    It raises otherwise when a template is made, and its own validation when it is written. To be
    called before there are stacks.
    """
    app.node.set_context("@aws-cdk/core:stackResourceLimit", 0)
    reason = "It is checked at the keys of the stage's file."
    Validations.of(app).acknowledge(Acknowledgment(id=RULE_OF_RESOURCES, reason=reason))


def check_templates(stage_name: str, assembly: CloudAssembly) -> None:
    """Raise `checked_yaml.LocatedErrors` for a template that CloudFormation refuses."""
    problems = [
        (keys, f"{problem}: {fix}")
        for stack in assembly.stacks
        for keys, fix in [_cause(stage_name, stack.stack_name)]
        for problem in _problems(stack.stack_name, Path(stack.template_full_path).read_bytes())
    ]
    if problems:
        raise checked_yaml.LocatedErrors(problems)


def _problems(stack: str, template: bytes) -> Iterator[str]:
    resources = len(json.loads(template)["Resources"])
    if resources > MAX_RESOURCES:
        yield f"the stack {stack} has {resources} resources, CloudFormation takes {MAX_RESOURCES}"
    if len(template) > MAX_BYTES:
        yield (
            f"the template of the stack {stack} has {len(template):,} bytes, CloudFormation takes "
            f"{MAX_BYTES:,}"
        )


def _cause(stage_name: str, stack: str) -> tuple[checked_yaml.Keys, str]:
    """Return the key of the list that makes a stack grow, and what to do with it."""
    name = stack.removeprefix(f"{stage_name}-")
    if name == "models":
        return ("endpoints",), "write some endpoints into the file of another stage"
    return (
        ("endpoints", name, "models"),
        "serve some of the models from another endpoint of the stage",
    )
