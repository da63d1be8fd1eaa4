"""Problems of an endpoint, reported all at once."""

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
"""The key of a rule's path -> the argument that holds the same, where its name differs."""


@dataclass(frozen=True)
class Problem:
    """A value that cannot be deployed: `where` is a dotted argument, `what` is problem and fix.

    `path` is that of the violated rule, () where no key of a stage can cause the problem.
    """

    where: str
    what: str
    path: rules.Keys = ()

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def inside(where: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield the problems of a part as problems of the whole."""
    for problem in problems:
        yield replace(problem, where=f"{where}.{problem.where}")


def of_rules(
    violations: Iterable[rules.Violation], *values: object, where: str | None = None
) -> Iterator[Problem]:
    """Yield violations as problems of arguments, none where only a deploy knows one of `values`.

    `where` is the argument, which otherwise follows from the path.
    """
    for path, message in violations:
        if not any(Token.is_unresolved(value) for value in values):
            yield Problem(where or _argument(".".join(map(str, path))), message, path)


def _argument(key: str) -> str:
    for prefix, argument in ARGUMENTS.items():
        if key == prefix or key.startswith(f"{prefix}."):
            return argument + key.removeprefix(prefix)
    return key
