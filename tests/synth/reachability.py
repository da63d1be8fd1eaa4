"""Checks that the dependencies between resources of a stage's templates are met.

Each check yields one message per unmet dependency.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from tests.synth.assembly import Assembly, Resource
from tests.synth.statements import Statement, allows

SCALING_POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"
CLOUDWATCH = "cloudwatch.amazonaws.com"


def alarms_without_notification(stage: Assembly) -> Iterator[str]:
    """Yield alarms without action, or whose topic has no subscriber or rejects CloudWatch.

    Alarms that roll updates back need no action: SageMaker reads their state.
    """
    rollback_alarms = {
        alarm.id
        for kind in ("Endpoint", "InferenceComponent")
        for updated in stage.of_type(f"AWS::SageMaker::{kind}")
        for name in _rollback_alarms(updated)
        if (alarm := stage.referenced(name, updated.stack))
    }
    for alarm in stage.of_type("AWS::CloudWatch::Alarm"):
        actions = alarm.properties.get("AlarmActions", [])
        if not actions and alarm.id not in rollback_alarms:
            yield f"{alarm.id} has no action"
        for action in actions:
            topic = stage.referenced(action, alarm.stack)
            if topic and topic.kind == SCALING_POLICY:
                continue
            if topic:  # topics outside of the templates belong to the team
                yield from (
                    f"{alarm.id}: {problem}" for problem in _notification_problems(stage, topic)
                )


def _rollback_alarms(updated: Resource) -> list[Any]:
    deployment = updated.properties.get("DeploymentConfig", {})
    rollback = deployment.get("AutoRollbackConfiguration", {})
    return [alarm["AlarmName"] for alarm in rollback.get("Alarms", [])]


def _notification_problems(stage: Assembly, topic: Resource) -> Iterator[str]:
    subscribed = [stage.referenced(resource.properties["TopicArn"], resource.stack)
                  for resource in stage.of_type("AWS::SNS::Subscription")]  # fmt: skip
    if topic not in subscribed:
        yield f"{topic.id} has no subscription"
    policies = [
        resource
        for resource in stage.of_type("AWS::SNS::TopicPolicy")
        if topic
        in [stage.referenced(name, resource.stack) for name in resource.properties["Topics"]]
    ]
    # The default policy of SNS allows alarms of the account to publish.
    for policy in policies:
        statements = stage.statements(policy.properties["PolicyDocument"], policy.stack)
        if not _cloudwatch_is_allowed(stage, statements, "sns:Publish", f"<{topic.id}>"):
            yield f"the policy of {topic.id} does not allow CloudWatch to publish"
    if name := topic.properties.get("KmsMasterKeyId"):
        key = stage.referenced(name, topic.stack)
        if key is None:
            yield f"{topic.id} has a key outside of the templates"
            return
        statements = stage.statements(key.properties["KeyPolicy"], key.stack)
        for action in ("kms:Decrypt", "kms:GenerateDataKey"):
            if not _cloudwatch_is_allowed(stage, statements, action, "*"):
                yield f"the key of {topic.id} does not allow CloudWatch {action}"


def unprotected_log_groups(stage: Assembly) -> Iterator[str]:
    """Yield log groups in an endpoint's stack, and roles that may create a log group."""
    writers = {resource.stack for resource in stage.of_type("AWS::SageMaker::Endpoint")}
    for group in stage.of_type("AWS::Logs::LogGroup"):
        name = group.properties.get("LogGroupName")
        if name is None:  # CloudFormation generates a new name each time
            continue
        if group.stack in writers:
            yield f"{group.id} is deleted with a failed first deploy"
        arn = f"arn:aws:logs:{stage.region}:{stage.account}:log-group:{name}:log-stream:"
        for role in stage.of_type("AWS::IAM::Role"):
            if allows(stage.role_statements(role), "logs:CreateLogGroup", resource=arn):
                yield f"{role.id} may create {group.id}"


def unusable_volume_keys(stage: Assembly) -> Iterator[str]:
    """Yield volume keys that an execution role may not use, by its own or by the key policy."""
    for config in stage.of_type("AWS::SageMaker::EndpointConfig"):
        if "KmsKeyId" not in config.properties:
            continue
        key = stage.referenced(config.properties["KmsKeyId"], config.stack)
        if key is None:
            yield f"{config.id} has a key outside of the templates"
            continue
        root = {"AWS": f"arn:aws:iam::{stage.account}:root"}
        root_statements = [
            statement
            for statement in stage.statements(key.properties["KeyPolicy"], key.stack)
            if statement["Principal"] == root
        ]
        for role in _execution_roles(stage, config):
            context = {"kms:GrantIsForAWSResource": "true"}
            for action in ("kms:CreateGrant", "kms:DescribeKey"):
                by_role = stage.role_statements(role)
                if not allows(by_role, action, resource=f"<{key.id}>", context=context):
                    yield f"{role.id} lacks {action} on {key.id}, the key of its volumes"
                if not allows(root_statements, action):
                    yield f"the policy of {key.id} does not delegate {action} to IAM"


def missing_component_logs(stage: Assembly) -> Iterator[str]:
    """Yield inference components without a log group, which only the stage may create."""
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
    served = [  # (serving resource, reference to the served resource)
        (resource, resource.properties["EndpointConfigName"])
        for resource in stage.of_type("AWS::SageMaker::Endpoint")
    ]
    for config in stage.of_type("AWS::SageMaker::EndpointConfig"):
        variants = config.properties["ProductionVariants"]
        served += [(config, variant["ModelName"]) for variant in variants if "ModelName" in variant]
    served += [
        (component, component.properties["Specification"]["ModelName"])
        for component in stage.of_type("AWS::SageMaker::InferenceComponent")
    ]
    for serving, reference in served:
        if stage.referenced(reference, serving.stack) is None:
            yield f"{serving.id} does not reference a resource: {reference}"


def _execution_roles(stage: Assembly, config: Resource) -> list[Resource]:
    """Return the execution roles of a configuration and its models."""
    variants = config.properties["ProductionVariants"]
    models = [
        stage.referenced(variant["ModelName"], config.stack)
        for variant in variants
        if "ModelName" in variant
    ]
    roles = [
        stage.referenced(resource.properties["ExecutionRoleArn"], resource.stack)
        for resource in (*models, config)
        if resource and "ExecutionRoleArn" in resource.properties
    ]
    return [role for role in roles if role]


def _cloudwatch_is_allowed(
    stage: Assembly, statements: Iterable[Statement], action: str, resource: str
) -> bool:
    context = {
        "aws:SecureTransport": "true",
        "aws:SourceAccount": stage.account,
        "aws:SourceArn": f"arn:aws:cloudwatch:{stage.region}:{stage.account}:alarm:one",
    }
    return allows(statements, action, resource=resource, principal=CLOUDWATCH, context=context)
