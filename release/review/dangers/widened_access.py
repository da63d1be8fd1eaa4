"""Access that somebody did not have."""

from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.found import Found, digest
from release.review.grants import ANYONE, in_words


def widened_access(comparison: Comparison) -> Iterator[Found]:
    """Who or what was there before may do more, or is no longer forbidden something.

    That is a role that may do more, and a bucket, key or role that lets more in. Who is new is
    judged by `powerful_newcomers`, anyone by `public_exposure`. Every danger has its own subject,
    so that acknowledging one acknowledges no other.
    """
    for it in comparison.gained:
        somebody = {grant for grant in it.by_known if grant.who != ANYONE}
        for sentence in in_words(somebody, "may now"):
            yield _found(it.stack, sentence, "gained", "may do {count} things more")
        for sentence in in_words(it.lost_denials, "is no longer forbidden to"):
            yield _found(it.stack, sentence, "freed", "is no longer forbidden {count} things")


def _found(stack: str, sentence: str, how: str, together: str) -> Found:
    who = sentence.partition(" ")[0]
    group = f"{stack}.{who}.{how}"
    return Found(f"{stack}.{who}.{digest(sentence)}", sentence, group, f"{who} {together}")
