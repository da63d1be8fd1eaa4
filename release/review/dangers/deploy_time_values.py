"""Values that a template reads from Parameter Store or Secrets Manager at deploy time."""

import re
from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.danger import Danger, digest
from release.review.values import texts
from release.tree import Template

_REFERENCE = re.compile(r"\{\{resolve:[^}]{0,200}")
_PARAMETER = "AWS::SSM::Parameter::"
_BOOTSTRAP = "/cdk-bootstrap/"
"""The parameter with the version of the bootstrap stack, which the CDK's synthesizers read."""


def deploy_time_values(comparison: Comparison) -> Iterator[Danger]:
    """A template reads a value of Parameter Store or Secrets Manager that it did not read before.

    Principals that may write the value can change it after the review, such as publishers, who may
    write the catalog of a stage.
    Sources: CloudFormation user guide, "Get values stored in other services using dynamic
    references" and "Specify existing resources at runtime with CloudFormation-supplied parameter
    types".
    """
    for stack, template in comparison.after.items():
        earlier = comparison.before.get(stack, {})
        new = set(_values(template)) - set(_values(earlier)) if template != earlier else ()
        for value in sorted(new):
            yield Danger(
                f"{stack}.{digest(value)}",
                f"{stack} takes {value} when it is deployed: who may write that decides then",
                group=stack,
            )


def _values(template: Template) -> Iterator[str]:
    for text in texts(template):
        yield from (f"{reference}}}}}" for reference in _REFERENCE.findall(text))
    for name, parameter in template.get("Parameters", {}).items():
        default = str(parameter.get("Default"))
        if str(parameter.get("Type")).startswith(_PARAMETER) and not default.startswith(_BOOTSTRAP):
            yield f"{default} as parameter {name}"
