"""How CloudFormation makes, changes and deletes scalable targets and their policies."""

from typing import Any

from local_aws.autoscaling.service import TARGET
from local_aws.cloudformation import Created, ResourceType, Service, typed
from local_aws.errors import ApiError

Record = dict[str, Any]


class ScalableTarget(ResourceType):
    """AWS::ApplicationAutoScaling::ScalableTarget; physical id `resource|dimension|service`."""

    replacing = TARGET

    def __init__(self, service: Service) -> None:
        self._service = service

    def create(self, logical_id: str, properties: Record, stack: str) -> Created:
        """Register the target, and schedule what it schedules."""
        self._register(properties, {it["Key"]: it["Value"] for it in properties.get("Tags", ())})
        return "|".join(properties[name] for name in TARGET), {}

    def update(self, physical_id: str, old: Record, new: Record, stack: str) -> Created:
        """Register it again, with its new limits, and unschedule what it no longer schedules."""
        self._register(new, {})
        kept = {it["ScheduledActionName"] for it in new.get("ScheduledActions", ())}
        for it in old.get("ScheduledActions", ()):
            if it["ScheduledActionName"] not in kept:
                named = {"ScheduledActionName": it["ScheduledActionName"]}
                _call_if_found(
                    self._service, "DeleteScheduledAction", {**_target_of(physical_id), **named}
                )
        return physical_id, {}

    def _register(self, properties: Record, tags: Record) -> None:
        """`tags` are of a new target: the API takes no others here, and later ones are lost."""
        given = typed(properties)
        scheduled = given.pop("ScheduledActions", ())
        given.pop("Tags", ())
        self._service.call("RegisterScalableTarget", {**given, **({"Tags": tags} if tags else {})})
        for it in scheduled:
            target = {name: given[name] for name in TARGET}
            self._service.call("PutScheduledAction", {**target, **it})

    def delete(self, physical_id: str, properties: Record) -> None:
        """Deregister it, if it is registered."""
        _call_if_found(self._service, "DeregisterScalableTarget", _target_of(physical_id))


class ScalingPolicy(ResourceType):
    """AWS::ApplicationAutoScaling::ScalingPolicy; physical id the policy's ARN."""

    replacing = (
        "PolicyName", "ResourceId", "ScalableDimension", "ScalingTargetId", "ServiceNamespace",
    )  # fmt: skip

    def __init__(self, service: Service) -> None:
        self._service = service

    def create(self, logical_id: str, properties: Record, stack: str) -> Created:
        """Put the policy."""
        answer = self._service.call("PutScalingPolicy", typed(_policy_request(properties)))
        return answer["PolicyARN"], {"Arn": answer["PolicyARN"]}

    def update(self, physical_id: str, old: Record, new: Record, stack: str) -> Created:
        """Put it again."""
        return self.create("", new, stack)

    def delete(self, physical_id: str, properties: Record) -> None:
        """Delete it, if its target was not deregistered before."""
        wanted = ("PolicyName", *TARGET)
        request = _policy_request(properties)
        _call_if_found(
            self._service, "DeleteScalingPolicy", {name: request[name] for name in wanted}
        )


def resource_types(service: Service) -> dict[str, ResourceType]:
    """Return CloudFormation's type names with what handles them."""
    return {
        "AWS::ApplicationAutoScaling::ScalableTarget": ScalableTarget(service),
        "AWS::ApplicationAutoScaling::ScalingPolicy": ScalingPolicy(service),
    }


def _policy_request(properties: Record) -> Record:
    """A template names the target by its physical id, the API by its three parts."""
    rest = {name: value for name, value in properties.items() if name != "ScalingTargetId"}
    return {**rest, **_target_of(properties.get("ScalingTargetId", ""))}


def _target_of(physical_id: str) -> Record:
    return dict(zip(TARGET, physical_id.split("|"), strict=False)) if physical_id else {}


def _call_if_found(service: Service, operation: str, request: Record) -> None:
    try:
        service.call(operation, request)
    except ApiError as error:
        if error.code != "ObjectNotFoundException":
            raise
