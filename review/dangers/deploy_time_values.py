"""Values that CloudFormation reads from Parameter Store or Secrets Manager at deploy time."""

import re
from collections.abc import Iterator

from release.templates import Template
from review.comparison import Comparison
from review.dangers.danger import Danger, digest
from review.values import iterate_texts

_REFERENCE = re.compile(r"\{\{resolve:[^}]{0,200}")
_PARAMETER = "AWS::SSM::Parameter::"
_BOOTSTRAP = "/cdk-bootstrap/"
"""Prefix of the parameter with the bootstrap stack's version, which the CDK adds to templates."""


def deploy_time_values(comparison: Comparison) -> Iterator[Danger]:
    """A template reads a new value of Parameter Store or Secrets Manager.

    Principals that may write the value can change it after the review. For example, publishers may
    write a stage's catalog.

    Sources: CloudFormation user guide, "Get values stored in other services using dynamic
    references" and "Specify existing resources at runtime with CloudFormation-supplied parameter
    types".
    """
    for stack, template in comparison.after.items():
        old_template = comparison.before.get(stack, {})
        if template == old_template:
            continue
        for value in sorted({*_values(template)} - {*_values(old_template)}):
            yield Danger(
                f"{stack}.{digest(value)}",
                f"{stack} reads {value} at deploy time, which can change after the review",
                group=stack,
            )


def _values(template: Template) -> Iterator[str]:
    """Yield the dynamic references, and the parameters that CloudFormation reads."""
    for text in iterate_texts(template):
        yield from (f"{reference}}}}}" for reference in _REFERENCE.findall(text))
    for name, parameter in template.get("Parameters", {}).items():
        default = str(parameter.get("Default"))
        if str(parameter.get("Type")).startswith(_PARAMETER) and not default.startswith(_BOOTSTRAP):
            yield f"{default} as parameter {name}"
