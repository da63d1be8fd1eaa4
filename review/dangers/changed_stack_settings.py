"""Changed deployment settings of stacks in the cloud assembly."""

import json
from collections.abc import Iterator

from review.comparison import Comparison
from review.dangers.danger import Danger, digest
from review.values import format_value

PROTECTION = "terminationProtection"


def changed_stack_settings(comparison: Comparison) -> Iterator[Danger]:
    """A stack loses termination protection, or its roles, tags, buckets or parameters change.

    Templates do not contain these settings (cloud assembly schema,
    AwsCloudFormationStackProperties). A new stack is compared with the other stacks of its stage.
    """
    before, after = comparison.settings
    for stack, settings in after.items():
        old_settings = [before[stack]] if stack in before else list(before.values())
        for key in sorted({*settings, *(key for old in old_settings for key in old)}):
            old_values = [old.get(key) for old in old_settings]
            value = settings.get(key)
            if not old_values or value in old_values or (key == PROTECTION and value is True):
                continue
            old_text = " or ".join(dict.fromkeys(map(format_value, old_values)))
            # Stacks with the same change are one danger. A new stack has several old values, of the
            # other stacks; the first one represents them.
            group = f"{key}.{digest(json.dumps([old_values[0], value], sort_keys=True))}"
            message = f"{stack}: {key}: {old_text} -> {format_value(value)}"
            yield Danger(f"{stack}.{group}", message, group=group)
