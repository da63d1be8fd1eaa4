"""Changed deployment settings of stacks in the cloud assembly."""

import json
from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.danger import Danger, digest
from release.review.values import format_value

PROTECTION = "terminationProtection"


def changed_stack_settings(comparison: Comparison) -> Iterator[Danger]:
    """A stack loses termination protection, or its roles, tags, buckets or parameters change.

    Templates do not contain these settings (cloud assembly schema,
    AwsCloudFormationStackProperties). A new stack is compared with the other stacks of its stage.
    """
    before, after = comparison.settings
    for stack, settings in after.items():
        others = [before[stack]] if stack in before else list(before.values())
        for key in sorted({*settings, *(key for other in others for key in other)}):
            known = [other.get(key) for other in others]
            value = settings.get(key)
            if known and value not in known and not (key == PROTECTION and value is True):
                old = " or ".join(dict.fromkeys(map(format_value, known)))
                change = f"{key}: {old} -> {format_value(value)}"
                group = f"{key}.{digest(json.dumps([known[0], value], sort_keys=True))}"
                yield Danger(f"{stack}.{group}", f"{stack}: {change}", group=group)
