"""Application Auto Scaling: what is registered, kept and described. Nothing is ever scaled.

The local endpoints have one instance a variant, so a policy or a schedule has nothing to act on;
what is checked is that a target names an endpoint's variant, and those a registered target.
"""

import re
import threading
import time
import uuid
from collections.abc import Iterable
from typing import Any

from local_aws.api import JsonService
from local_aws.autoscaling.schedules import refuse_schedule
from local_aws.environment import ACCOUNT, REGION
from local_aws.errors import ApiError
from local_aws.paging import page
from local_aws.sagemaker.hosting_api import Hosting

Record = dict[str, Any]
TargetKey = tuple[str, str, str]

TARGET = ("ResourceId", "ScalableDimension", "ServiceNamespace")
"""The members that name a scalable target."""

VARIANT = re.compile(r"endpoint/(?P<endpoint>[^/]+)/variant/(?P<variant>[^/]+)")


class AutoScaling:
    """Scalable targets, their policies and schedules."""

    def __init__(self, hosting: Hosting) -> None:
        self._hosting = hosting
        self._lock = threading.Lock()
        self._targets: dict[TargetKey, Record] = {}
        self._policies: dict[tuple[TargetKey, str], Record] = {}
        self._scheduled: dict[tuple[TargetKey, str], Record] = {}
        self.service = JsonService(
            "application-autoscaling",
            {
                "RegisterScalableTarget": self.register,
                "DeregisterScalableTarget": self.deregister,
                "DescribeScalableTargets": self.describe_targets,
                "PutScalingPolicy": self.put_policy,
                "DeleteScalingPolicy": self.delete_policy,
                "DescribeScalingPolicies": self.describe_policies,
                "PutScheduledAction": self.put_scheduled,
                "DeleteScheduledAction": self.delete_scheduled,
                "DescribeScheduledActions": self.describe_scheduled,
            },
        )

    def register(self, request: Record) -> Record:
        """RegisterScalableTarget."""
        match = VARIANT.fullmatch(request["ResourceId"])
        if match is None:
            raise ApiError("ValidationException", f"Invalid resource ID {request['ResourceId']}")
        endpoint = self._hosting.describe_endpoint({"EndpointName": match["endpoint"]})
        if match["variant"] not in {it["VariantName"] for it in endpoint["ProductionVariants"]}:
            raise ApiError(
                "ValidationException", f"SageMaker variant not found: {request['ResourceId']}"
            )
        with self._lock:
            arn = _arn("scalable-target", uuid.uuid4().hex[:8])
            born = {"CreationTime": time.time(), "ScalableTargetARN": arn}
            target = {**born, **self._targets.get(_key(request), {}), **request}
            _refuse_limits(target)
            self._targets[_key(request)] = target
            return {"ScalableTargetARN": target["ScalableTargetARN"]}

    def variants(self, endpoint: str) -> set[str]:
        """Return the variants of an endpoint that are registered."""
        with self._lock:
            keys = [it for it in self._targets if _endpoint_of(it) == endpoint]
        return {resource.rpartition("/")[2] for _, resource, _ in keys}

    def deregister(self, request: Record) -> Record:
        """DeregisterScalableTarget, which deletes the target's policies and schedules."""
        with self._lock:
            if _key(request) not in self._targets:
                raise ApiError("ObjectNotFoundException", "No scalable target found.")
            self._remove(_key(request))
        return {}

    def forget(self, endpoint: str) -> None:
        """Deregister every variant of an endpoint that is deleted."""
        with self._lock:
            for key in [it for it in self._targets if _endpoint_of(it) == endpoint]:
                self._remove(key)

    def _remove(self, key: TargetKey) -> None:
        del self._targets[key]
        for kept in (self._policies, self._scheduled):
            for name in [it for it in kept if it[0] == key]:
                del kept[name]

    def describe_targets(self, request: Record) -> Record:
        """DescribeScalableTargets."""
        with self._lock:
            return _page("ScalableTargets", self._targets.values(), request, size=50)

    def put_policy(self, request: Record) -> Record:
        """PutScalingPolicy."""
        key = (_key(request), request["PolicyName"])
        with self._lock:
            if _key(request) not in self._targets:
                raise ApiError("ObjectNotFoundException", "No scalable target registered.")
            arn = _arn("scaling-policy", f"{uuid.uuid4()}:policyName/{request['PolicyName']}")
            born = {"CreationTime": time.time(), "PolicyARN": arn, "Alarms": []}
            policy = self._policies[key] = {**born, **self._policies.get(key, {})}
            policy.update(request)
            return {"PolicyARN": policy["PolicyARN"], "Alarms": []}

    def delete_policy(self, request: Record) -> Record:
        """DeleteScalingPolicy."""
        with self._lock:
            if self._policies.pop((_key(request), request["PolicyName"]), None) is None:
                raise ApiError("ObjectNotFoundException", "No scaling policy found.")
        return {}

    def describe_policies(self, request: Record) -> Record:
        """DescribeScalingPolicies."""
        with self._lock:
            return _page("ScalingPolicies", self._policies.values(), request, size=10)

    def put_scheduled(self, request: Record) -> Record:
        """PutScheduledAction."""
        key = (_key(request), request["ScheduledActionName"])
        with self._lock:
            if _key(request) not in self._targets:
                raise ApiError("ObjectNotFoundException", "No scalable target registered.")
            known = self._scheduled.get(key, {})
            if "Schedule" not in {**known, **request}:
                raise ApiError("ValidationException", "A new scheduled action needs Schedule.")
            refuse_schedule(request)
            arn = _arn("scheduledAction", f"{uuid.uuid4()}:scheduledActionName/{key[1]}")
            born = {"CreationTime": time.time(), "ScheduledActionARN": arn}
            self._scheduled[key] = {**born, **known, **request}
        return {}

    def delete_scheduled(self, request: Record) -> Record:
        """DeleteScheduledAction."""
        with self._lock:
            key = (_key(request), request["ScheduledActionName"])
            if self._scheduled.pop(key, None) is None:
                raise ApiError("ObjectNotFoundException", "No scheduled action found.")
        return {}

    def describe_scheduled(self, request: Record) -> Record:
        """DescribeScheduledActions."""
        with self._lock:
            return _page("ScheduledActions", self._scheduled.values(), request, size=50)


def _key(request: Record) -> TargetKey:
    return request["ServiceNamespace"], request["ResourceId"], request["ScalableDimension"]


def _endpoint_of(key: TargetKey) -> str:
    return key[1].split("/")[1]


_LISTS = {
    "PolicyNames": "PolicyName",
    "ResourceIds": "ResourceId",
    "ScheduledActionNames": "ScheduledActionName",
}
"""Filters that name several values of one member; they may be left empty."""


def _page(name: str, records: Iterable[Record], request: Record, *, size: int) -> Record:
    """Return what matches, a page of at most `size`; source: the API reference, by MaxResults."""
    if not 1 <= request.get("MaxResults", size) <= size:
        raise ApiError("ValidationException", f"MaxResults must be between 1 and {size}.")
    allowed = {
        **{name: [request[name]] for name in TARGET if name in request},
        **{name: request[lists] for lists, name in _LISTS.items() if request.get(lists)},
    }
    found, more = page(
        [it for it in records if all(it[name] in values for name, values in allowed.items())],
        request,
        key=lambda it: (it["CreationTime"], _name(it) + it["ResourceId"]),
        size=size,
        refusal="InvalidNextTokenException",
    )
    return {name: found, **more}


def _name(record: Record) -> str:
    return str(record.get("PolicyName") or record.get("ScheduledActionName") or "")


def _refuse_limits(target: Record) -> None:
    """Both are "required when registering a new scalable target", says the API reference."""
    missing = [it for it in ("MinCapacity", "MaxCapacity") if it not in target]
    if missing:
        raise ApiError("ValidationException", f"A new scalable target needs {missing[0]}.")
    if target["MinCapacity"] > target["MaxCapacity"]:  # no source
        raise ApiError(
            "ValidationException", "Minimum capacity cannot be greater than maximum capacity."
        )


def _arn(kind: str, rest: str) -> str:
    return f"arn:aws:application-autoscaling:{REGION}:{ACCOUNT}:{kind}/{rest}"
