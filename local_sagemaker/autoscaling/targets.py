"""What is scaled: a production variant of an endpoint, by the names that the API has for it."""

import re
from typing import Any, NamedTuple

from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import invalid

Record = dict[str, Any]

MEMBERS = ("ResourceId", "ScalableDimension", "ServiceNamespace")
"""The members that name a scalable target."""

_VARIANT = re.compile(r"endpoint/(?P<endpoint>[^/]+)/variant/(?P<variant>[^/]+)")


class TargetKey(NamedTuple):
    """The three names of a scalable target."""

    namespace: str
    resource: str
    dimension: str

    @classmethod
    def of(cls, request: Record) -> "TargetKey":
        """Return those of a request."""
        return cls(request["ServiceNamespace"], request["ResourceId"], request["ScalableDimension"])

    @property
    def endpoint(self) -> str:
        """The endpoint that is scaled."""
        return self._names()["endpoint"]

    @property
    def variant(self) -> str:
        """The variant that is scaled."""
        return self._names()["variant"]

    @property
    def members(self) -> Record:
        """The members of a record that name it."""
        return dict(zip(MEMBERS, (self.resource, self.dimension, self.namespace), strict=True))

    def _names(self) -> "re.Match[str]":
        match = _VARIANT.fullmatch(self.resource)
        if match is None:
            raise invalid(f"Invalid resource ID {self.resource}")
        return match


def arn(kind: str, rest: str) -> str:
    """Return an ARN of Application Auto Scaling's own."""
    return f"arn:aws:application-autoscaling:{REGION}:{ACCOUNT}:{kind}/{rest}"


def autoscaling_arn(kind: str, identifier: str, key: TargetKey, rest: str) -> str:
    """Return the ARN of a policy or a scheduled action, which begins as Auto Scaling's do.

    The form: the API references of PutScalingPolicy and DescribeScheduledActions, in the examples.
    """
    resource = f"resource/{key.namespace}/{key.resource}"
    return f"arn:aws:autoscaling:{REGION}:{ACCOUNT}:{kind}:{identifier}:{resource}:{rest}"
