"""Ask topic by topic; what one of them fails with is a row, and the others go on."""

from collections.abc import Callable, Iterable, Iterator

from botocore.exceptions import BotoCoreError, ClientError

from release.preflight.account import Account, NotDeployed, Unresolved
from release.preflight.answers import DENIED, why
from release.preflight.rows import Row, Topic

__all__ = ["DENIED", "Ask", "depends_on", "rows_of", "why"]

Ask = Callable[[Account], Iterator[Row]]
"""A topic's function: yields its rows. Its module's `TOPIC` has its name."""


def rows_of(topics: Iterable[tuple[Topic, Ask]], account: Account) -> Iterator[Row]:
    """Yield the rows of all topics."""
    for topic, ask in topics:
        yield from _asked(topic, ask, account)


def _asked(topic: Topic, ask: Ask, account: Account) -> Iterator[Row]:
    try:
        yield from ask(account)
    except NotDeployed as stack:
        yield topic.unknown(topic.name, depends_on(str(stack)))
    except Unresolved as value:
        yield topic.unknown(topic.name, f"only CloudFormation knows {value}")
    except (ClientError, BotoCoreError) as error:
        yield topic.unknown(topic.name, why(error))


def depends_on(stack: str) -> str:
    """Say that something is known when a stack is there."""
    return f"depends on {stack}, which is not deployed"
