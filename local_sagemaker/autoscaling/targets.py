"""Keys and ARNs of scalable targets: a variant's instances or a component's copies."""

import re
from typing import Any, NamedTuple

from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import invalid

Record = dict[str, Any]

MEMBERS = ("ResourceId", "ScalableDimension", "ServiceNamespace")
"""The request members that identify a scalable target."""

_RESOURCES = {
    "sagemaker:variant:DesiredInstanceCount": re.compile(
        r"endpoint/(?P<EndpointName>[^/]+)/variant/(?P<VariantName>[^/]+)"
    ),
    "sagemaker:inference-component:DesiredCopyCount": re.compile(
        r"inference-component/(?P<InferenceComponentName>[^/]+)"
    ),
}
"""Scalable dimension -> pattern of its resource ids; the groups are CloudWatch dimensions."""


class TargetKey(NamedTuple):
    """The three values that identify a scalable target."""

    namespace: str
    resource: str
    dimension: str

    @classmethod
    def from_request(cls, request: Record) -> "TargetKey":
        """Return the key in a request or a record."""
        return cls(request["ServiceNamespace"], request["ResourceId"], request["ScalableDimension"])

    @property
    def endpoint(self) -> str | None:
        """The endpoint whose variant is scaled."""
        return self.names.get("EndpointName")

    @property
    def variant(self) -> str | None:
        """The variant that is scaled."""
        return self.names.get("VariantName")

    @property
    def component(self) -> str | None:
        """The inference component that is scaled."""
        return self.names.get("InferenceComponentName")

    @property
    def unit(self) -> str:
        """The unit of the capacity in activity messages; "copy" has no source."""
        return "copy" if self.component else "instance"

    @property
    def members(self) -> Record:
        """The key as members of a record."""
        return dict(zip(MEMBERS, (self.resource, self.dimension, self.namespace), strict=True))

    @property
    def names(self) -> dict[str, str]:
        """The names in the resource id, by CloudWatch dimension. Raise `ApiError`."""
        pattern = _RESOURCES.get(self.dimension)
        if pattern is None:
            raise invalid(
                f"The local SageMaker does not support the scalable dimension {self.dimension}."
            )
        match = pattern.fullmatch(self.resource)
        if match is None:
            raise invalid(f"Invalid resource ID {self.resource}")
        return match.groupdict()


def arn(kind: str, rest: str) -> str:
    """Return an ARN of the service application-autoscaling."""
    return f"arn:aws:application-autoscaling:{REGION}:{ACCOUNT}:{kind}/{rest}"


def autoscaling_arn(kind: str, identifier: str, key: TargetKey, rest: str) -> str:
    """Return the ARN of a policy or a scheduled action, in the service autoscaling.

    Source: the examples of the API references of PutScalingPolicy and DescribeScheduledActions.
    """
    resource = f"resource/{key.namespace}/{key.resource}"
    return f"arn:aws:autoscaling:{REGION}:{ACCOUNT}:{kind}:{identifier}:{resource}:{rest}"
