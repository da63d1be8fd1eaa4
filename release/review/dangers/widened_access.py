"""Access that somebody did not have."""

import hashlib
from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.grants import ANYONE, in_words


def widened_access(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Who or what was there before may do more, or is no longer forbidden something.

    That is a role that may do more, and a bucket, key or role that lets more in. What new roles may
    do is listed under access, and is not a danger by itself. Every danger has its own subject, so
    that acknowledging one acknowledges no other. Anyone is `public_exposure`'s.
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
