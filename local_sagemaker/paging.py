"""Lists that are answered a page at a time."""

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
    """Return the records of the page that `request` asks for, and its `NextToken` if more follow.

    A token names the last record of its page, and not its place: a record that is created or
    deleted meanwhile makes no other appear twice or not at all. `refusal` is the code of the error
    for a token that is of another list.
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
            raise ApiError(refusal, "Invalid NextToken: it is of another list.") from None
    most = request.get("MaxResults", size)
    more = {"NextToken": _token(key(ordered[most - 1]))} if len(ordered) > most else {}
    return ordered[:most], more


def _token(key: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode()


def _read(token: str) -> Key:
    value, name = json.loads(base64.urlsafe_b64decode(token))
    return value, name
