"""The filters and pages of the Describe operations."""

from collections.abc import Iterable

from local_sagemaker.autoscaling.targets import KEY_MEMBERS, Record
from local_sagemaker.paging import page

_FILTERED_MEMBERS = {
    "PolicyNames": "PolicyName",
    "ResourceIds": "ResourceId",
    "ScheduledActionNames": "ScheduledActionName",
}
"""Member of a request with allowed values -> member of a record; an empty list allows all."""


_ORDER = {
    "ScalableTargets": ("CreationTime", "ScalableTargetARN"),
    "ScalingPolicies": ("CreationTime", "PolicyARN"),
    "ScheduledActions": ("CreationTime", "ScheduledActionARN"),
    "ScalingActivities": ("StartTime", "ActivityId"),
}
_PAGE_SIZES = {"ScalingPolicies": 10}
_PAGE_SIZE = 50
"""Default, and maximum, of MaxResults; source: the API references of the Describe operations."""


def describe(name: str, records: Iterable[Record], request: Record) -> Record:
    """Return the response of a Describe operation: one page of records, activities latest first."""
    allowed = {
        **{name: [request[name]] for name in KEY_MEMBERS if name in request},
        **{name: request[key] for key, name in _FILTERED_MEMBERS.items() if request.get(key)},
    }
    time, identifier = _ORDER[name]
    records_page, next_token = page(
        (
            record
            for record in records
            if all(record[member] in values for member, values in allowed.items())
        ),
        request,
        key=lambda record: (record[time], record[identifier]),
        size=_PAGE_SIZES.get(name, _PAGE_SIZE),
        descending=name == "ScalingActivities",
        error_code="InvalidNextTokenException",
    )
    return {name: records_page, **next_token}
