"""Access that somebody did not have."""

import hashlib
from collections.abc import Iterator

from release.review.access import ANYONE, in_words
from release.review.comparison import Comparison


def widened_access(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Who or what was there before is let do more, or no longer forbidden something.

    That is a role that may do more, and a bucket, key or role that lets more in. What roles that
    the change brings may do is listed under access, and is no danger by itself. Every danger has
    its own subject, so that taking one on takes on no other. Anyone is `public_exposure`'s.
    """
    for it in comparison.gained:
        somebody = {grant for grant in it.by_known if grant.who != ANYONE}
        for sentence in in_words(somebody, "may now"):
            yield _subject(it.stack, sentence), sentence
        for sentence in in_words(it.lost_denials, "is no longer forbidden to"):
            yield _subject(it.stack, sentence), sentence


def _subject(stack: str, sentence: str) -> str:
    who = sentence.partition(" ")[0]
    return f"{stack}.{who}.{hashlib.sha256(sentence.encode()).hexdigest()[:8]}"
