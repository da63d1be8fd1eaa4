"""New acknowledgements of cdk-nag findings in the app."""

import re
from collections.abc import Iterable, Iterator

from review.comparison import Comparison
from review.dangers.danger import Danger, digest

_LINE = re.compile(
    r"cdk-nag: (?P<construct>.*?): (?P<finding>(?P<rule>.*?)(?:\[.*?\])?): (?P<reason>.*)",
    re.DOTALL,
)


def new_acknowledgements(comparison: Comparison) -> Iterator[Danger]:
    """The app acknowledges findings of a cdk-nag rule for a new reason.

    Two acknowledgements are listed in the report, but are not dangers: of an existing reason for
    more resources, because the permissions of new roles are compared separately; and of a reason
    that is in the base's code, because it belongs to a feature that the stage did not use.
    """
    acknowledged = comparison.acknowledged
    if not comparison.before:
        return
    old_reasons = {
        (match["rule"], match["reason"])
        for match in _matches((*acknowledged.fixed, *acknowledged.remaining))
    }
    for match in _matches(acknowledged.new):
        reason = match["reason"]
        if (match["rule"], reason) not in old_reasons and reason not in comparison.base_strings:
            group = f"{match['rule']}.{digest(reason)}"
            yield Danger(
                f"{group}.{match['construct']}",
                f"{match['construct']}: {match['finding']} of cdk-nag is acknowledged for a new "
                f"reason: {reason}",
                group=group,
            )


def _matches(lines: Iterable[str]) -> Iterator[re.Match[str]]:
    return (match for line in lines if (match := _LINE.fullmatch(line)))
