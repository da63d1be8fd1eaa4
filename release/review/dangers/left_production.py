"""A stage that is no longer production."""

import re
from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.found import Found

_ALARMS = {
    "lost_alarms": re.compile(r".+\.\S+/Monitoring/\S+"),
    "replaced_resources": re.compile(r"\S+-models\.Alarms/\S+"),
    "unheard_alarms": re.compile(r"\S+-models\.Alarms/\S+"),
}
"""Rule -> the subjects that a stage has in production alone (stacks/endpoint_stack.py,
stacks/model_stack.py)."""


def left_production(comparison: Comparison) -> Iterator[Found]:
    """The stage was production: its alarms go, with whoever heard them."""
    if comparison.was.production and not comparison.will_be.production:
        yield Found(
            comparison.stage,
            f"{comparison.stage} is no longer production: nobody is told any more when it fails, "
            "and one instance is enough",
            explains=_is_of_production,
        )


def _is_of_production(rule: str, subject: str) -> bool:
    return rule in _ALARMS and _ALARMS[rule].fullmatch(subject) is not None
