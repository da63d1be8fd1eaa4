"""Problems of the arguments of constructs, which are all reported together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from aws_cdk import Token

from platform_facts import rules

ARGUMENTS = {
    "instance_count": "initial_instance_count",
    "weight": "initial_variant_weight",
    "name": "variant_name",
    "publish_metrics": "container.options.publish_metrics",
    "server": "container.options",
    "environment": "container.environment",
    "release": "container.release",
    "update.wait_seconds": "update.wait",
    "update.rollback_error_rate": "rollback_error_rate",
    "update.strategy": "update",
    "notify": "topics",
    "instance_types": "fallbacks",
    "provision_timeout_minutes": "provision_timeout",
}
"""Key of a stage file -> argument of the construct, if the names differ."""


@dataclass(frozen=True)
class Problem:
    """An invalid argument.

    `argument` is a dotted path, `message` has the problem and the fix. `path` is the key of the
    stage file that the violated rule is about, () if no setting of a stage can cause the problem.
    """

    argument: str
    message: str
    path: rules.Keys = ()

    def __str__(self) -> str:
        return f"{self.argument}: {self.message}"


def prefix_problems(parent: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Prefix the argument of each problem with its parent argument."""
    for problem in problems:
        yield replace(problem, argument=f"{parent}.{problem.argument}")


def as_problems(
    violations: Iterable[rules.Violation], *values: object, argument: str | None = None
) -> Iterator[Problem]:
    """Yield violations as problems; nothing if one of `values` is an unresolved token.

    `argument` is the argument; by default it follows from the path of the violation.
    """
    for path, message in violations:
        if not any(Token.is_unresolved(value) for value in values):
            yield Problem(argument or _argument(".".join(map(str, path))), message, path)


def _argument(key: str) -> str:
    for prefix, argument in ARGUMENTS.items():
        if key == prefix or key.startswith(f"{prefix}."):
            return argument + key.removeprefix(prefix)
    return key
