"""Ask topic by topic; what one of them fails with is a row, and the others go on."""

import re
from collections.abc import Callable, Iterable, Iterator

from botocore.exceptions import BotoCoreError, ClientError

from release.preflight.account import Account, NotDeployed
from release.preflight.rows import Row, Topic

Ask = Callable[[Account], Iterator[Row]]
"""A topic's function: yields its rows. Its module's `TOPIC` has its name."""

DENIED = (
    *("AccessDenied", "AccessDeniedException", "AuthorizationError"),
    *("AuthorizationErrorException", "UnauthorizedOperation", "403"),
)
"""How services answer a caller who may not ask."""

_ACTION = re.compile(r"not authorized to perform: ([\w-]+:\w+)")


def rows_of(topics: Iterable[tuple[Topic, Ask]], account: Account) -> Iterator[Row]:
    """Yield the rows of all topics."""
    for topic, ask in topics:
        yield from _asked(topic, ask, account)


def _asked(topic: Topic, ask: Ask, account: Account) -> Iterator[Row]:
    try:
        yield from ask(account)
    except NotDeployed as stack:
        yield topic.unknown(topic.name, depends_on(str(stack)))
    except (ClientError, BotoCoreError) as error:
        yield topic.unknown(topic.name, why(error))


def depends_on(stack: str) -> str:
    """Say that something is known when a stack is there."""
    return f"depends on {stack}, which is not deployed"


def why(error: ClientError | BotoCoreError) -> str:
    """Say why AWS did not answer."""
    if not isinstance(error, ClientError):
        return f"AWS: {error}"
    told = error.response["Error"]
    if told.get("Code") in DENIED:
        named = _ACTION.search(told.get("Message", ""))
        return f"not allowed to ask ({named[1] if named else error.operation_name})"
    said = told.get("Message") or told.get("Code")
    return f"AWS answers {error.operation_name} with: {said}"
