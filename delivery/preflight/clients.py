"""boto3 clients with many retries for throttling and few for connection errors."""

from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ConnectionError as NotConnected

CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 10}, connect_timeout=5)
"""Ten attempts for throttling, because a preflight makes many calls at once.

A connection may take five seconds; botocore's default is 60.
"""
MAX_CONNECTION_ATTEMPTS = 2
"""A choice of this project: more attempts do not help against a firewall."""


def client(session: boto3.Session, service: str, region: str | None = None) -> Any:
    """Return a client of a service, by default in the session's region."""
    untyped: Any = session  # its stubs accept only literal service names
    aws_client = untyped.client(service, region_name=region, config=CONFIG)
    aws_client.meta.events.register_first("needs-retry", _stop_connecting)
    return aws_client


def _stop_connecting(attempts: int, caught_exception: Exception | None, **_: Any) -> None:
    """Raise a connection error before botocore's own handler retries it."""
    if isinstance(caught_exception, NotConnected) and attempts >= MAX_CONNECTION_ATTEMPTS:
        raise caught_exception
