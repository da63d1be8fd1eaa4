"""The filters of the Describe operations."""

from collections.abc import Iterable

from local_sagemaker.autoscaling.targets import MEMBERS, Record

_LISTS = {
    "PolicyNames": "PolicyName",
    "ResourceIds": "ResourceId",
    "ScheduledActionNames": "ScheduledActionName",
}
"""Request member that lists allowed values -> the member it filters; an empty list is ignored."""


def describe(name: str, records: Iterable[Record], request: Record) -> Record:
    """Return the response of a Describe operation: all records that match, in one page."""
    allowed = {
        **{name: [request[name]] for name in MEMBERS if name in request},
        **{name: request[lists] for lists, name in _LISTS.items() if request.get(lists)},
    }
    return {
        name: [
            record
            for record in records
            if all(record[member] in values for member, values in allowed.items())
        ]
    }
