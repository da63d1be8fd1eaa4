"""The ledger of permissions in one place: its names filled with ARNs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from release.permissions import NAMED
from release.permissions.ledger import Condition

Names = Mapping[str, str]
"""Name in the ledger -> ARN, or what else stands there."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the ledger is to hold.

    `suffix` ends the names of the partition's services, `endpoint` is the short name of one
    endpoint of the stage, `endpoint_name` SageMaker's where it is another, `component` one of its
    inference components, `source_stage` the stage that archives are promoted from, `registry` the
    account of the region's images, `builder_source` the asset that builds archives,
    `engines_source` the one that compiles engines, `mirror` the copy in ECR of an image that
    engines are compiled in, `mirror_repository` its repository as ARNs end.
    """

    partition: str = "aws"
    suffix: str = "amazonaws.com"
    region: str
    account: str
    stage: str
    endpoint: str = "*"
    endpoint_name: str = ""
    component: str = "*"
    source_stage: str = "*"
    registry: str = "*"
    builder_source: str = "*"
    engines_source: str = "*"
    mirror: str = "*"
    mirror_repository: str = "*"

    def names(self, resources: Names) -> dict[str, str]:
        """Return all names: those of the place itself, and `resources` by the names of `NAMED`."""
        name = self.endpoint_name or f"{self.stage}-{self.endpoint}"
        return {**vars(self), "endpoint_name": name, **resources}


def by_name(place: Place) -> dict[str, str]:
    """Return the names of a place, resources as patterns that their ARNs fit."""
    return place.names({name: named.arn.format(**vars(place)) for name, named in NAMED.items()})


def filled(text: str, names: Names) -> str | None:
    """Return a text of the ledger with ARNs for names; None where one of them is not there."""
    used = re.findall(r"\{(\w+)\}", text)
    return None if set(used) - names.keys() else text.format(**names)


def filled_condition(condition: Condition, names: Names) -> dict[str, dict[str, list[str]]]:
    """Return a condition with values for names, each a list."""
    return {
        operator: {
            key: [part.format(**names) for part in ([value] if isinstance(value, str) else value)]
            for key, value in keys.items()
        }
        for operator, keys in condition.items()
    }
