"""The filters of the Describe operations."""

from collections.abc import Iterable

from local_sagemaker.autoscaling.targets import KEY_MEMBERS, Record

_FILTERED_MEMBERS = {
    "PolicyNames": "PolicyName",
    "ResourceIds": "ResourceId",
    "ScheduledActionNames": "ScheduledActionName",
}
"""Member of a request with allowed values -> member of a record; an empty list allows all."""


def describe(name: str, records: Iterable[Record], request: Record) -> Record:
    """Return the response of a Describe operation: all records that the request selects."""
    allowed = {
        **{name: [request[name]] for name in KEY_MEMBERS if name in request},
        **{name: request[key] for key, name in _FILTERED_MEMBERS.items() if request.get(key)},
    }
    return {
        name: [
            record
            for record in records
            if all(record[member] in values for member, values in allowed.items())
        ]
    }
