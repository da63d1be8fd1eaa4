"""boto3 clients with many retries for throttling and few for connection errors."""

from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ConnectionError as NotConnected

PATIENT = Config(retries={"mode": "standard", "total_max_attempts": 10}, connect_timeout=5)
"""Ten attempts for throttling, because a preflight makes many calls at once; five seconds for a
connection, where botocore's default is 60."""
CONNECTIONS = 2
"""Attempts to connect: our choice. More do not help against a firewall."""


def client(session: boto3.Session, service: str, region: str | None = None) -> Any:
    """Return a client of a service, by default in the session's region."""
    asking: Any = session
    made = asking.client(service, region_name=region, config=PATIENT)
    made.meta.events.register_first("needs-retry", _connect_no_more)
    return made


def _connect_no_more(attempts: int, caught_exception: Exception | None, **_: Any) -> None:
    """Raise a connection error before botocore's own handler retries it."""
    if isinstance(caught_exception, NotConnected) and attempts >= CONNECTIONS:
        raise caught_exception
