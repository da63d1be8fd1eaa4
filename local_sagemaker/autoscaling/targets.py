"""Scalable targets: keys, ARNs, policies and scheduled actions."""

import re
import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from local_sagemaker.autoscaling.schedules import Schedule
from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import ApiError, invalid

Record = dict[str, Any]

TRACKING_CONFIGURATION = "TargetTrackingScalingPolicyConfiguration"
STEP_SCALING, STEP_CONFIGURATION = "StepScaling", "StepScalingPolicyConfiguration"
KEY_MEMBERS = ("ResourceId", "ScalableDimension", "ServiceNamespace")
"""The request members that identify a scalable target."""

_RESOURCES = {
    "sagemaker:variant:DesiredInstanceCount": re.compile(
        r"endpoint/(?P<EndpointName>[^/]+)/variant/(?P<VariantName>[^/]+)"
    ),
    "sagemaker:inference-component:DesiredCopyCount": re.compile(
        r"inference-component/(?P<InferenceComponentName>[^/]+)"
    ),
}
"""Scalable dimension -> pattern of its resource ids; group names are CloudWatch dimensions."""


class TargetKey(NamedTuple):
    """The identity of a scalable target."""

    namespace: str
    resource: str
    dimension: str

    @classmethod
    def from_request(cls, request: Record) -> "TargetKey":
        """Return the key in a request or a record."""
        return cls(request["ServiceNamespace"], request["ResourceId"], request["ScalableDimension"])

    @property
    def endpoint(self) -> str | None:
        """The name of the endpoint whose variant is scaled, if any."""
        return self.resource_names.get("EndpointName")

    @property
    def variant(self) -> str | None:
        """The name of the variant that is scaled, if any."""
        return self.resource_names.get("VariantName")

    @property
    def component(self) -> str | None:
        """The name of the inference component that is scaled, if any."""
        return self.resource_names.get("InferenceComponentName")

    @property
    def description(self) -> str:
        """The key as in messages of errors."""
        return (
            f"service namespace: {self.namespace}, resource ID: {self.resource}, "
            f"scalable dimension: {self.dimension}"
        )

    @property
    def unit(self) -> str:
        """The unit of capacity in messages of activities; "copy" has no source."""
        return "copy" if self.component else "instance"

    @property
    def members(self) -> Record:
        """The members of a record that identify the target."""
        return dict(zip(KEY_MEMBERS, (self.resource, self.dimension, self.namespace), strict=True))

    @property
    def resource_names(self) -> dict[str, str]:
        """The names in the resource id, by CloudWatch dimension. Raise `ApiError`."""
        pattern = _RESOURCES.get(self.dimension)
        if pattern is None:
            raise invalid(
                f"The local SageMaker does not support the scalable dimension {self.dimension}."
            )
        match = pattern.fullmatch(self.resource)
        if match is None:
            raise invalid(
                "Unsupported service namespace, resource type or scalable dimension"
            )  # source: badmintoncryer/cdk-preflight, pf-appautoscaling-resource-id-shape
        return match.groupdict()


def target_arn(identifier: str) -> str:
    """Return the ARN of a scalable target."""
    return f"arn:aws:application-autoscaling:{REGION}:{ACCOUNT}:scalable-target/{identifier}"


def autoscaling_arn(kind: str, identifier: str, key: TargetKey, suffix: str) -> str:
    """Return the ARN of a policy or a scheduled action, in the service autoscaling.

    Source: the examples of the API references of PutScalingPolicy and DescribeScheduledActions.
    """
    resource = f"resource/{key.namespace}/{key.resource}"
    return f"arn:aws:autoscaling:{REGION}:{ACCOUNT}:{kind}:{identifier}:{resource}:{suffix}"


@dataclass(frozen=True)
class ScalingStep:
    """A change of capacity, with its scaling activity; `policy` is None if no policy caused it.

    `old_capacity` is the capacity from which the change was calculated: for a second step within a
    cooldown, the one before the first step. `end_time` is in Unix seconds.
    """

    old_capacity: int
    capacity: int
    policy: str | None = None
    activity: Record = field(default_factory=dict)
    end_time: float = 0.0


@dataclass
class RegisteredTarget:
    """A scalable target with its policies and scheduled actions by name.

    `step` is in progress. `scale_out` and `scale_in` are the last ones that a policy caused.
    """

    key: TargetKey
    record: Record
    policies: dict[str, Record] = field(default_factory=dict)
    actions: dict[str, Record] = field(default_factory=dict)
    schedules: dict[str, Schedule] = field(default_factory=dict)
    step: ScalingStep | None = None
    scale_out: ScalingStep | None = None
    scale_in: ScalingStep | None = None
    tags: dict[str, str] = field(default_factory=dict)

    def is_suspended(self, kind: str) -> bool:
        """Return whether scaling of a kind, a member of SuspendedState, is suspended."""
        return bool(self.record["SuspendedState"][kind])

    @property
    def limits(self) -> tuple[int, int]:
        """The minimum and the maximum capacity."""
        return self.record["MinCapacity"], self.record["MaxCapacity"]


class Store:
    """Scalable targets by key; `lock` guards them and their attributes."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.targets: dict[TargetKey, RegisteredTarget] = {}

    def find(self, request: Record, *, missing: str = "registered") -> RegisteredTarget:
        """Return the target of a request. Raise `ApiError` if it is not registered."""
        key = TargetKey.from_request(request)
        with self.lock:
            if key in self.targets:
                return self.targets[key]
        raise ApiError(
            "ObjectNotFoundException",
            f"No scalable target {missing} for {key.description}",
        )
