"""Pagination of List operations."""

import base64
import json
from collections.abc import Callable, Iterable
from typing import Any

from local_sagemaker.errors import ApiError

Record = dict[str, Any]
Key = tuple[Any, str]


def page(
    records: Iterable[Record],
    request: Record,
    *,
    key: Callable[[Record], Key],
    size: int,
    descending: bool = False,
    refusal: str = "ValidationException",
) -> tuple[list[Record], dict[str, str]]:
    """Return the requested page of records, and `NextToken` if more follow.

    A token contains the key of the last record, not an index, so that records created or deleted
    between two pages do not repeat or hide others. `refusal` is the error code for an invalid
    token.
    """
    ordered = sorted(records, key=key, reverse=descending)
    if "NextToken" in request:
        try:
            last = _read(request["NextToken"])
            ordered = [
                record
                for record in ordered
                if (key(record) < last if descending else key(record) > last)
            ]
        except (RecursionError, TypeError, ValueError):
            raise ApiError(refusal, "Invalid NextToken: it is for another list.") from None
    most = request.get("MaxResults", size)
    more = {"NextToken": _token(key(ordered[most - 1]))} if len(ordered) > most else {}
    return ordered[:most], more


def _token(key: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode()


def _read(token: str) -> Key:
    value, name = json.loads(base64.urlsafe_b64decode(token))
    return value, name
