"""What the Describe operations have in common: filters, and pages."""

from collections.abc import Iterable
from typing import Any

from local_sagemaker.autoscaling.targets import MEMBERS, Record
from local_sagemaker.errors import invalid
from local_sagemaker.paging import page

_LISTS = {
    "PolicyNames": "PolicyName",
    "ResourceIds": "ResourceId",
    "ScheduledActionNames": "ScheduledActionName",
}
"""Filters that name several values of one member; they may be left empty."""


def describe(
    name: str, records: Iterable[Record], request: Record, *, size: int, descending: bool = False
) -> Record:
    """Return what matches, a page of at most `size`; source: the API reference, by MaxResults."""
    if not 1 <= request.get("MaxResults", size) <= size:
        raise invalid(f"MaxResults must be between 1 and {size}.")
    allowed = {
        **{name: [request[name]] for name in MEMBERS if name in request},
        **{name: request[lists] for lists, name in _LISTS.items() if request.get(lists)},
    }
    found, more = page(
        [it for it in records if all(it[name] in values for name, values in allowed.items())],
        request,
        key=_order,
        size=size,
        descending=descending,
        refusal="InvalidNextTokenException",
    )
    return {name: found, **more}


def _order(record: Record) -> Any:
    names = ("PolicyName", "ScheduledActionName", "ActivityId", "ResourceId")
    born = record.get("CreationTime", record.get("StartTime"))
    return born, "".join(record.get(it, "") for it in names)
