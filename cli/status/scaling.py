"""What Application Auto Scaling knows of endpoints: limits, policies, and what it did."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from cli.status.metrics import Query, of_variant
from cli.status.report import Activity, Policy, Scaling
from local_sagemaker.metrics import names

SAGEMAKER = "sagemaker"
LATEST = 5
"""Activities that are shown."""
PREDEFINED = {
    "SageMakerVariantInvocationsPerInstance": (
        *("invocations", "a minute"),
        *("InvocationsPerInstance", "Sum"),
    ),
    "SageMakerVariantConcurrentRequestsPerModelHighResolution": (
        *("concurrency", "at once"),
        *("ConcurrentRequestsPerModel", "Maximum"),
    ),
}
"""What Application Auto Scaling calls a metric -> what status calls it, its unit, the metric and
its statistic. Source: SageMaker's developer guide, endpoint-auto-scaling-add-code-define and
monitoring-cloudwatch."""
CUSTOMIZED = {"GPUUtilization": "GPU", "CPUUtilization": "CPU"}

Record = Mapping[str, Any]


class Place(NamedTuple):
    """A variant that is a scalable target."""

    endpoint: str
    variant: str

    @classmethod
    def of(cls, resource: str) -> "Place | None":
        """Read a resource, endpoint/NAME/variant/NAME; None for what is none of a variant."""
        match resource.split("/"):
            case ["endpoint", endpoint, "variant", variant]:
                return cls(endpoint, variant)
        return None

    @property
    def resource(self) -> str:
        """Return how Application Auto Scaling calls it."""
        return f"endpoint/{self.endpoint}/variant/{self.variant}"


@dataclass(frozen=True)
class Followed:
    """A policy, and the query of what it follows."""

    name: str
    measure: str
    target: float
    unit: str
    query: Query

    def at(self, values: Sequence[float], minutes: float) -> Policy:
        """Return the policy with the mean of the periods that have data.

        A period is so many `minutes`, as alarms have them: sums are of one.
        """
        mean = sum(values) / len(values) if values else None
        if mean is not None and self.query.statistic == "Sum":
            mean /= minutes
        return Policy(self.name, self.measure, mean, self.target, self.unit)


@dataclass(frozen=True)
class Scaled:
    """The limits of a variant, and what it follows."""

    min: int
    max: int
    followed: list[Followed]

    def at(self, found: Mapping[Query, Sequence[float]], minutes: float = 1) -> Scaling:
        """Return it with what was found, in periods of so many minutes."""
        policies = [it.at(found.get(it.query, []), minutes) for it in self.followed]
        return Scaling(self.min, self.max, policies)


def scaled_variants(autoscaling: Any) -> dict[Place, Scaled]:
    """Return the scalable targets of the account. Raises `ClientError`."""
    followed: dict[str, list[Followed]] = {}
    for policy in _all(autoscaling, "describe_scaling_policies", "ScalingPolicies"):
        found = _followed(policy)
        if found:
            followed.setdefault(policy["ResourceId"], []).append(found)
    return {
        place: Scaled(it["MinCapacity"], it["MaxCapacity"], followed.get(it["ResourceId"], []))
        for it in _all(autoscaling, "describe_scalable_targets", "ScalableTargets")
        if (place := Place.of(it["ResourceId"]))
    }


def latest_activities(autoscaling: Any, places: Iterable[Place]) -> list[Activity]:
    """Return the latest activities of variants, the latest first. Raises `ClientError`.

    Each is asked for by itself, so that nobody else's are paged through. That AWS answers with the
    latest first is how its user guide's examples are; no page says it.
    """
    found = [
        Activity(
            time=it["StartTime"],
            endpoint=place.endpoint,
            variant=place.variant,
            description=it["Description"],
            cause=it["Cause"],
            status=it["StatusCode"],
            message=it.get("StatusMessage"),
        )
        for place in places
        for it in autoscaling.describe_scaling_activities(
            ServiceNamespace=SAGEMAKER, ResourceId=place.resource, MaxResults=LATEST
        )["ScalingActivities"]
    ]
    return sorted(found, key=lambda it: it.time, reverse=True)[:LATEST]


def _all(autoscaling: Any, operation: str, member: str) -> Iterator[Record]:
    for page in autoscaling.get_paginator(operation).paginate(ServiceNamespace=SAGEMAKER):
        yield from page[member]


def _followed(policy: Record) -> Followed | None:
    """Return what a policy follows; None for one by steps, or by a metric that is computed."""
    configuration = policy.get("TargetTrackingScalingPolicyConfiguration", {})
    place = Place.of(policy["ResourceId"])
    kind = configuration.get("PredefinedMetricSpecification", {}).get("PredefinedMetricType")
    metric = configuration.get("CustomizedMetricSpecification", {})
    if place and kind in PREDEFINED:
        measure, unit, name, statistic = PREDEFINED[kind]
        query = Query(names.REQUESTS, name, statistic, of_variant(*place))
    elif "MetricName" in metric:
        measure = CUSTOMIZED.get(metric["MetricName"], metric["MetricName"])
        unit = "%" if metric.get("Unit") == "Percent" else ""
        dimensions = tuple((it["Name"], it["Value"]) for it in metric.get("Dimensions", ()))
        query = Query(metric["Namespace"], metric["MetricName"], metric["Statistic"], dimensions)
    else:
        return None
    return Followed(policy["PolicyName"], measure, configuration["TargetValue"], unit, query)
