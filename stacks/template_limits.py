"""CloudFormation's limits on a template."""

import json
from pathlib import Path

from aws_cdk import Acknowledgment, App, Validations
from aws_cdk.cx_api import CloudAssembly

from platform_facts.rules import checked_yaml

MAX_RESOURCES = 500
MAX_BYTES = 1_000_000
"""CloudFormation user guide, cloudformation-limits: resources in a template, and "1 MB" for a
template in an S3 object, to which the cdk CLI uploads it with indentation."""

RESOURCE_RULE = "CloudFormation-Validate::F0007"


def disable_cdk_limits(app: App) -> None:
    """Disable the CDK's checks of the number of resources, before any stack is created.

    `check_templates` replaces them, because it reports the key in the stage file.
    """
    app.node.set_context("@aws-cdk/core:stackResourceLimit", 0)
    reason = "stacks/template_limits.py checks the number of resources."
    Validations.of(app).acknowledge(Acknowledgment(id=RESOURCE_RULE, reason=reason))


def check_templates(stage_name: str, assembly: CloudAssembly) -> None:
    """Raise `checked_yaml.LocatedErrors` for templates that exceed CloudFormation's limits.

    Errors are located at the list that determines the size of the stack.
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
        for size, maximum, unit in (
            (resources, MAX_RESOURCES, "resources"),
            (len(template), MAX_BYTES, "bytes"),
        ):
            if size > maximum:
                problem = f"the template of {stack.stack_name} has {size:,} {unit}, CloudFormation"
                problems.append((keys, f"{problem} takes {maximum:,}: {fix}"))
    if problems:
        raise checked_yaml.LocatedErrors(problems)
