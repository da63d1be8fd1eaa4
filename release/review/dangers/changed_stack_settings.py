"""What the cloud assembly says of a stack beside its template."""

import json
from collections.abc import Iterator
from typing import Any

from release.review.comparison import Comparison
from release.review.dangers.danger import Danger, digest

PROTECTION = "terminationProtection"
LONGEST = 200
"""Characters of a value in a message."""


def changed_stack_settings(comparison: Comparison) -> Iterator[Danger]:
    """A stack loses its protection, or gets other roles, tags, places or parameters.

    No template has them (cloud assembly schema, AwsCloudFormationStackProperties). A new stack is
    compared with the others of its stage: a value that none of them has is one more change.
    """
    before, after = comparison.settings
    for stack, settings in after.items():
        others = [before[stack]] if stack in before else list(before.values())
        for key in sorted({*settings, *(key for other in others for key in other)}):
            known = [other.get(key) for other in others]
            now = settings.get(key)
            if known and now not in known and not (key == PROTECTION and now is True):
                was = " or ".join(dict.fromkeys(map(_shown, known)))
                change = f"{key}: {was} -> {_shown(now)}"
                group = f"{key}.{digest(json.dumps([known[0], now], sort_keys=True))}"
                yield Danger(f"{stack}.{group}", f"{stack}: {change}", group=group)


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
