"""Access that somebody did not have."""

from collections.abc import Iterator

from review.access import Grant, grants, in_words
from review.comparison import Comparison


def widened_access(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Whoever was there before may do more: another action, another resource, fewer conditions.

    Roles that the change brings are listed under access, and are no danger by themselves.
    """
    for stack, before, new in gained(comparison):
        known = {grant.who for grant in before}
        for who in sorted({grant.who for grant in new} & known):
            for sentence in in_words({grant for grant in new if grant.who == who}):
                yield f"{stack}.{who}", sentence.replace(" may ", " may now ", 1)


def gained(comparison: Comparison) -> Iterator[tuple[str, set[Grant], set[Grant]]]:
    """Yield stack name, all grants before, and the grants that came, for every stack."""
    for stack in sorted(comparison.before.keys() | comparison.after.keys()):
        before = grants(comparison.before.get(stack, {}))
        new = grants(comparison.after.get(stack, {})) - before
        if new:
            yield stack, before, new
