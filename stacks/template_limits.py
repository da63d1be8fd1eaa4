"""CloudFormation's limits on a template."""

import json
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
    """Disable the CDK's checks of the number of resources in favour of `check_templates`.

    `check_templates` reports the key in the stage file. Call this before any stack is created.
    """
    app.node.set_context("@aws-cdk/core:stackResourceLimit", 0)
    reason = "It is checked at the keys of the stage's file."
    Validations.of(app).acknowledge(Acknowledgment(id=RULE_OF_RESOURCES, reason=reason))


def check_templates(stage_name: str, assembly: CloudAssembly) -> None:
    """Raise `checked_yaml.LocatedErrors` for templates that exceed CloudFormation's limits.

    Errors are at the key of the list that determines the size of the stack.
    """
    problems: list[tuple[checked_yaml.Keys, str]] = []
    for stack in assembly.stacks:
        short_name = stack.stack_name.removeprefix(f"{stage_name}-")
        keys: checked_yaml.Keys = ("endpoints", short_name, "models")
        fix = "serve some of the models from another endpoint of the stage"
        if short_name == "models":
            keys, fix = ("endpoints",), "write some endpoints into the file of another stage"
        template = Path(stack.template_full_path).read_bytes()
        resources = len(json.loads(template)["Resources"])
        for size, most, unit in (
            (resources, MAX_RESOURCES, "resources"),
            (len(template), MAX_BYTES, "bytes"),
        ):
            if size > most:
                problem = f"the template of {stack.stack_name} has {size:,} {unit}, CloudFormation"
                problems.append((keys, f"{problem} takes {most:,}: {fix}"))
    if problems:
        raise checked_yaml.LocatedErrors(problems)
