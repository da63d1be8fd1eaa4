"""Access that somebody did not have."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from review.access import ANYONE, Grant, denials, grants, in_words, paths
from review.comparison import Comparison


def widened_access(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Who or what was there before is let do more, or no longer forbidden something.

    That is a role that may do more, and a bucket, key or role that lets more in. What roles that
    the change brings may do is listed under access, and is no danger by itself. Every danger has
    its own subject, so that taking one on takes on no other. Anyone is `public_exposure`'s.
    """
    for it in gained(comparison):
        somebody = {grant for grant in it.by_known if grant.who != ANYONE}
        for sentence in in_words(somebody, "may now"):
            yield _subject(it.stack, sentence), sentence
        for sentence in in_words(it.lost_denials, "is no longer forbidden to"):
            yield _subject(it.stack, sentence), sentence


@dataclass(frozen=True)
class Gained:
    """What the policies of a stack allow and did not before.

    `by_known` is of roles, or on resources, that were there; `by_new` the rest. `lost_denials` is
    what was forbidden before, on resources that stay.
    """

    stack: str
    by_known: set[Grant]
    by_new: set[Grant]
    lost_denials: set[Grant]


def gained(comparison: Comparison) -> Iterator[Gained]:
    """Yield what was gained, for every stack where something was."""
    for stack, template in sorted(comparison.after.items()):
        before = comparison.before.get(stack, {})
        old = grants(before)
        new = {it for it in grants(template) if not any(known.covers(it) for known in old)}
        there, stays = paths(before), paths(template)
        who = {it.who for it in old} | there
        known = {it for it in new if it.who in who or it.guarded in there}
        lost = {it for it in denials(before) - denials(template) if (it.guarded or it.who) in stays}
        if new or lost:
            yield Gained(stack, known, new - known, lost)


def _subject(stack: str, sentence: str) -> str:
    who = sentence.partition(" ")[0]
    return f"{stack}.{who}.{hashlib.sha256(sentence.encode()).hexdigest()[:8]}"
