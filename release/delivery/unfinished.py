"""What AWS goes on with, when nobody can ask any more how it ends."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from endpoint_client import EndpointError
from release.delivery.credentials import expired, explained
from release.delivery.errors import Unfinished


@contextmanager
def unfinished(what: str) -> Iterator[None]:
    """Raise `Unfinished` with `what` where AWS can no longer be asked, or somebody interrupts."""
    try:
        yield
    except KeyboardInterrupt:
        raise Unfinished(f"interrupted, and {what}") from None
    except (BotoCoreError, ClientError, EndpointError) as error:
        if not isinstance(error, BotoCoreError) and not expired(error):
            raise
        raise Unfinished(f"{what}: {explained(error)}") from error


def at_work(stacks: Iterable[str]) -> str:
    """Return what AWS may be doing after a deploy of these stacks was begun."""
    return f"CloudFormation may still be updating {', '.join(stacks)}"
