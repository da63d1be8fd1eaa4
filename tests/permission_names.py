"""Values of the placeholders of the permission ledger."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from delivery.permissions import NAMED_RESOURCES
from delivery.permissions.ledger import Condition

Names = Mapping[str, str]
"""Placeholder -> ARN or other value."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Placeholder values of one stage or endpoint; `*` matches any value.

    suffix: DNS suffix of the partition.
    endpoint: short name of an endpoint.
    endpoint_name: name in SageMaker, if it differs from `<stage>-<endpoint>`.
    component: name of an inference component.
    source_stage: stage from which archives are promoted.
    qualifier: qualifier of the bootstrap stack.
    registry: account of the Triton images of the region.
    builder_source, engines_source: source assets of the CodeBuild projects.
    existing: name in NAMED_RESOURCES -> ARN of a resource that exists outside of the stage.
    mirror, mirror_repository: image in ECR for engine builds, and the end of its repository ARN.
    own_repository: the end of the repository ARN of an endpoint's own image.
    image_repository: that of an endpoint's image.
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
    qualifier: str = "hnb659fds"
    registry: str = "*"
    existing: Names = field(default_factory=dict)
    builder_source: str = "*"
    engines_source: str = "*"
    mirror: str = "*"
    mirror_repository: str = "*"
    own_repository: str = "*"
    image_repository: str = "*"

    def names(self, resources: Names) -> dict[str, str]:
        """Return all placeholder values; `resources` are the ARNs of NAMED_RESOURCES."""
        name = self.endpoint_name or f"{self.stage}-{self.endpoint}"
        fields = {key: value for key, value in vars(self).items() if key != "existing"}
        return {**fields, "endpoint_name": name, **resources, **self.existing}


def by_name(place: Place) -> dict[str, str]:
    """Return all placeholder values of a place, with resource ARNs as patterns."""
    return place.names(
        {name: named.arn.format(**vars(place)) for name, named in NAMED_RESOURCES.items()}
    )


def filled(text: str, names: Names) -> str | None:
    """Return a text of the ledger with placeholders replaced; None if a value is missing."""
    used = re.findall(r"\{(\w+)\}", text)
    return None if set(used) - names.keys() else text.format(**names)


def filled_condition(condition: Condition, names: Names) -> dict[str, dict[str, list[str]]]:
    """Return a condition with placeholders replaced and all values as lists."""
    return {
        operator: {
            key: [part.format(**names) for part in ([value] if isinstance(value, str) else value)]
            for key, value in keys.items()
        }
        for operator, keys in condition.items()
    }
