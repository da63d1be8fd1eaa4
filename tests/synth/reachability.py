"""Checks that the dependencies between resources of a stage's templates are met.

Each check yields one message per unmet dependency.
"""

from collections.abc import Iterator
from typing import Any

from tests.synth.assembly import Assembly, Resource

SCALING_POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"


def alarms_without_notification(stage: Assembly) -> Iterator[str]:
    """Yield alarms without action, or whose topic has no subscriber.

    Rollback alarms need no action, because SageMaker reads their state.
    """
    rollback_alarms = {
        alarm.id
        for kind in ("Endpoint", "InferenceComponent")
        for updated in stage.of_type(f"AWS::SageMaker::{kind}")
        for name in _rollback_alarms(updated)
        if (alarm := stage.referenced(name, updated.stack))
    }
    subscribed = [
        stage.referenced(subscription.properties["TopicArn"], subscription.stack)
        for subscription in stage.of_type("AWS::SNS::Subscription")
    ]
    for alarm in stage.of_type("AWS::CloudWatch::Alarm"):
        actions = alarm.properties.get("AlarmActions", [])
        if not actions and alarm.id not in rollback_alarms:
            yield f"{alarm.id} has no action"
        for action in actions:
            topic = stage.referenced(action, alarm.stack)  # None: a topic of the team
            if topic and topic.kind != SCALING_POLICY and topic not in subscribed:
                yield f"{alarm.id}: {topic.id} has no subscription"


def _rollback_alarms(updated: Resource) -> list[Any]:
    deployment = updated.properties.get("DeploymentConfig", {})
    rollback = deployment.get("AutoRollbackConfiguration", {})
    return [alarm["AlarmName"] for alarm in rollback.get("Alarms", [])]


def unprotected_log_groups(stage: Assembly) -> Iterator[str]:
    """Yield log groups in an endpoint's stack."""
    writers = {resource.stack for resource in stage.of_type("AWS::SageMaker::Endpoint")}
    for group in stage.of_type("AWS::Logs::LogGroup"):
        if group.stack in writers and "LogGroupName" in group.properties:
            yield f"{group.id} is deleted with a failed first deploy"


def missing_component_logs(stage: Assembly) -> Iterator[str]:
    """Yield inference components without a log group."""
    names = {
        resource.properties.get("LogGroupName") for resource in stage.of_type("AWS::Logs::LogGroup")
    }
    for component in stage.of_type("AWS::SageMaker::InferenceComponent"):
        name = component.properties["InferenceComponentName"]
        if f"/aws/sagemaker/InferenceComponents/{name}" not in names:
            yield f"{component.id} has no log group"


def unsafe_replacements(stage: Assembly) -> Iterator[str]:
    """Yield models and configurations in use that cannot be replaced safely.

    CloudFormation creates the replacement, updates the references, then deletes the old resource.
    This needs resources without a name, and references instead of names.
    """
    for kind, name in (("Model", "ModelName"), ("EndpointConfig", "EndpointConfigName")):
        for resource in stage.of_type(f"AWS::SageMaker::{kind}"):
            if name in resource.properties:
                yield f"{resource.id} has a name: its replacement cannot be created"
    references = [  # (serving resource, reference to the served resource)
        (resource, resource.properties["EndpointConfigName"])
        for resource in stage.of_type("AWS::SageMaker::Endpoint")
    ]
    for config in stage.of_type("AWS::SageMaker::EndpointConfig"):
        variants = config.properties["ProductionVariants"]
        references += [
            (config, variant["ModelName"]) for variant in variants if "ModelName" in variant
        ]
    references += [
        (component, component.properties["Specification"]["ModelName"])
        for component in stage.of_type("AWS::SageMaker::InferenceComponent")
    ]
    for serving, reference in references:
        if stage.referenced(reference, serving.stack) is None:
            yield f"{serving.id} does not reference a resource: {reference}"
