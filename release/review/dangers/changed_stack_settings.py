"""Deployment settings of a stack in the cloud assembly."""

import json
from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.danger import Danger, digest
from release.review.values import text_of

PROTECTION = "terminationProtection"


def changed_stack_settings(comparison: Comparison) -> Iterator[Danger]:
    """A stack loses termination protection, or gets other roles, tags, buckets or parameters.

    Templates do not have them (cloud assembly schema, AwsCloudFormationStackProperties). A new
    stack is compared with the other stacks of its stage.
    """
    before, after = comparison.settings
    for stack, settings in after.items():
        others = [before[stack]] if stack in before else list(before.values())
        for key in sorted({*settings, *(key for other in others for key in other)}):
            known = [other.get(key) for other in others]
            now = settings.get(key)
            if known and now not in known and not (key == PROTECTION and now is True):
                was = " or ".join(dict.fromkeys(map(text_of, known)))
                change = f"{key}: {was} -> {text_of(now)}"
                group = f"{key}.{digest(json.dumps([known[0], now], sort_keys=True))}"
                yield Danger(f"{stack}.{group}", f"{stack}: {change}", group=group)
