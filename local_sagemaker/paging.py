"""Pagination of List operations."""

import base64
import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from local_sagemaker.errors import ApiError

Record = dict[str, Any]
Key = tuple[Any, str]
T = TypeVar("T")


def page(
    records: Iterable[T],
    request: Record,
    *,
    key: Callable[[T], Key],
    size: int,
    descending: bool = False,
    error_code: str = "ValidationException",
) -> tuple[list[T], dict[str, str]]:
    """Return the requested page of records, and `NextToken` if more records follow.

    A token contains the key of the last record, not an index, so that records created or deleted
    between two pages do not repeat or hide others. `error_code` is the code of the error for an
    invalid token.
    """
    ordered = sorted(records, key=key, reverse=descending)
    if "NextToken" in request:
        try:
            last_key = _decode_token(request["NextToken"])
            ordered = [
                record
                for record in ordered
                if (key(record) < last_key if descending else key(record) > last_key)
            ]
        except (RecursionError, TypeError, ValueError):
            raise ApiError(error_code, "Invalid NextToken: it is for another list.") from None
    page_size = request.get("MaxResults", size)
    if len(ordered) <= page_size:
        return ordered, {}
    return ordered[:page_size], {"NextToken": _encode_token(key(ordered[page_size - 1]))}


def _encode_token(key: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode()


def _decode_token(token: str) -> Key:
    value, name = json.loads(base64.urlsafe_b64decode(token))
    return value, name
