"""More money than somebody has set."""

from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.found import Found
from release.review.money import cost_changes, total


def over_budget(comparison: Comparison) -> Iterator[Found]:
    """The most that a stage may cost crosses its `max_monthly_usd`, or is above it and rises.

    What has no price is left out, and said so in a note.
    """
    most, before_that = comparison.will_be.max_monthly_usd, comparison.was.max_monthly_usd
    if most is None or not comparison.after:
        return
    costs = cost_changes(comparison)
    was = total((it.before for it in costs), "maximum").usd
    now = total((it.after for it in costs), "maximum").usd
    was_above = before_that is not None and was > before_that
    if now > most and not (was_above and now <= was and before_that and most >= before_that):
        yield Found(
            comparison.stage,
            f"{comparison.stage} may cost {now:,.0f} USD a month, more than its max_monthly_usd of "
            f"{most:,.0f} (before: up to {was:,.0f})",
        )
