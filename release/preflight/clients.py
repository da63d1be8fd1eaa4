"""Clients that are patient with throttling, and not with a network that leads nowhere."""

from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ConnectionError as NotConnected

PATIENT = Config(retries={"mode": "standard", "total_max_attempts": 10}, connect_timeout=5)
"""Ten attempts for throttling: a preflight asks much at once. Seconds for a connection, of which
botocore's default is 60."""
CONNECTIONS = 2
"""Attempts to connect: our choice. A firewall drops the third as it did the first."""


def client(session: boto3.Session, service: str, region: str | None = None) -> Any:
    """Return a client of a service, in the session's region if none is named."""
    asking: Any = session
    made = asking.client(service, region_name=region, config=PATIENT)
    made.meta.events.register_first("needs-retry", _connect_no_more)
    return made


def _connect_no_more(attempts: int, caught_exception: Exception | None, **_: Any) -> None:
    """Raise what could not connect, before botocore's own handler tries it again."""
    if isinstance(caught_exception, NotConnected) and attempts >= CONNECTIONS:
        raise caught_exception
