"""Questions that several topics have, and AWS is asked once."""

from collections.abc import Callable
from typing import TypeVar

from botocore.exceptions import BotoCoreError, ClientError

Answer = TypeVar("Answer")
Known = dict[str, Answer | ClientError | BotoCoreError]
"""Question -> the answer, or what was answered with an error: the next topic would get it again."""


def once(known: Known[Answer], question: str, ask: Callable[[], Answer]) -> Answer:
    """Return the answer to a question, remembered in `known`.

    Raises what AWS, or the SDK, answered with, remembered too.
    """
    if question not in known:
        try:
            known[question] = ask()
        except (ClientError, BotoCoreError) as error:
            known[question] = error
    found = known[question]
    if isinstance(found, ClientError | BotoCoreError):
        raise found
    return found
