"""CloudFormation resource types of Application Auto Scaling."""

from local_sagemaker.autoscaling.targets import KEY_MEMBERS, Record
from local_sagemaker.cloudformation import Created, ResourceType, Service

SCHEDULED_ACTIONS = "ScheduledActions"


class ScalableTarget(ResourceType):
    """AWS::ApplicationAutoScaling::ScalableTarget, with the id `resource|dimension|service`."""

    replacing = KEY_MEMBERS

    def create(self, logical_id: str, properties: Record, stack: str) -> Created:
        """Register the target with its tags; later changes of tags have no effect."""
        tags = {tag["Key"]: tag["Value"] for tag in properties.get("Tags", [])}
        self._register({}, properties, **({"Tags": tags} if tags else {}))
        return "|".join(properties[name] for name in KEY_MEMBERS), {}

    def update(self, physical_id: str, old: Record, new: Record, stack: str) -> Created:
        """Register the target again, with the new limits."""
        self._register(old, new)
        return physical_id, {}

    def delete(self, physical_id: str, properties: Record) -> None:
        """Deregister the target, if it is registered."""
        self.call_if_exists("DeregisterScalableTarget", _split_target_id(physical_id))

    def _register(self, old: Record, new: Record, **tags: Record) -> None:
        """Register the target, put its scheduled actions, and delete removed ones.

        Source: the CloudFormation user guide, AWS::ApplicationAutoScaling::ScalableTarget
        ScheduledAction: the members are those of PutScheduledAction.
        """
        request = {
            name: value for name, value in new.items() if name not in (SCHEDULED_ACTIONS, "Tags")
        }
        self.call("RegisterScalableTarget", {**request, **tags})
        target = {name: new[name] for name in KEY_MEMBERS}
        for action in new.get(SCHEDULED_ACTIONS, []):
            self.call("PutScheduledAction", {**action, **target})
        old_names, new_names = (
            {action["ScheduledActionName"] for action in properties.get(SCHEDULED_ACTIONS, [])}
            for properties in (old, new)
        )
        for name in old_names - new_names:
            request = {**target, "ScheduledActionName": name}
            self.call_if_exists("DeleteScheduledAction", request)


class ScalingPolicy(ResourceType):
    """AWS::ApplicationAutoScaling::ScalingPolicy; the physical id is the policy's ARN."""

    replacing = (
        "PolicyName", "ResourceId", "ScalableDimension", "ScalingTargetId", "ServiceNamespace",
    )  # fmt: skip

    def create(self, logical_id: str, properties: Record, stack: str) -> Created:
        """Put the policy."""
        arn = self.call("PutScalingPolicy", _policy_request(properties))["PolicyARN"]
        return arn, {"Arn": arn}

    def update(self, physical_id: str, old: Record, new: Record, stack: str) -> Created:
        """Put the policy again."""
        return self.create("", new, stack)

    def delete(self, physical_id: str, properties: Record) -> None:
        """Delete the policy, unless it was deleted with its target."""
        request = _policy_request(properties)
        key = {name: request[name] for name in ("PolicyName", *KEY_MEMBERS)}
        self.call_if_exists("DeleteScalingPolicy", key)


def resource_types(service: Service) -> dict[str, ResourceType]:
    """Return the resource types by CloudFormation's type name."""
    return {
        "AWS::ApplicationAutoScaling::ScalableTarget": ScalableTarget(service),
        "AWS::ApplicationAutoScaling::ScalingPolicy": ScalingPolicy(service),
    }


def _policy_request(properties: Record) -> Record:
    """Return a PutScalingPolicy request; ScalingTargetId is split into the target's members."""
    request = {name: value for name, value in properties.items() if name != "ScalingTargetId"}
    return {**request, **_split_target_id(properties.get("ScalingTargetId", ""))}


def _split_target_id(physical_id: str) -> Record:
    """Return the request members of a scalable target's physical id."""
    return dict(zip(KEY_MEMBERS, physical_id.split("|"), strict=False)) if physical_id else {}
