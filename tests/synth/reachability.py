"""What must reach what, in templates of any stage: each check yields what is wrong as a line."""

from collections.abc import Iterable, Iterator
from typing import Any

from tests.synth.assembly import Assembly, Resource
from tests.synth.statements import Statement, allows

SCALING_POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"
CLOUDWATCH = "cloudwatch.amazonaws.com"


def unheard_alarms(stage: Assembly) -> Iterator[str]:
    """Alarms that nobody hears: of no action, of a topic that refuses them, or without a reader.

    An alarm that rolls updates back is heard by SageMaker.
    """
    heard = {
        each.id
        for kind in ("Endpoint", "InferenceComponent")
        for updated in stage.of(f"AWS::SageMaker::{kind}")
        for name in _rollback_alarms(updated)
        if (each := stage.named(name, updated.stack))
    }
    for alarm in stage.of("AWS::CloudWatch::Alarm"):
        actions = alarm.properties.get("AlarmActions", [])
        if not actions and alarm.id not in heard:
            yield f"{alarm.id} tells nobody"
        for action in actions:
            topic = stage.named(action, alarm.stack)
            if topic and topic.kind == SCALING_POLICY:
                continue
            if topic:  # another is the team's own
                yield from (f"{alarm.id}: {each}" for each in _deaf(stage, topic))


def _rollback_alarms(updated: Resource) -> list[Any]:
    deployment = updated.properties.get("DeploymentConfig", {})
    rollback = deployment.get("AutoRollbackConfiguration", {})
    return [alarm["AlarmName"] for alarm in rollback.get("Alarms", [])]


def _deaf(stage: Assembly, topic: Resource) -> Iterator[str]:
    subscribed = [stage.named(each.properties["TopicArn"], each.stack)
                  for each in stage.of("AWS::SNS::Subscription")]  # fmt: skip
    if topic not in subscribed:
        yield f"nobody is subscribed to {topic.id}"
    policies = [
        each
        for each in stage.of("AWS::SNS::TopicPolicy")
        if topic in [stage.named(name, each.stack) for name in each.properties["Topics"]]
    ]
    # Without a policy of its own, a topic has SNS's, which lets the account's alarms publish.
    for policy in policies:
        statements = stage.statements(policy.properties["PolicyDocument"], policy.stack)
        if not _cloudwatch_may(stage, statements, "sns:Publish", f"<{topic.id}>"):
            yield f"the policy of {topic.id} does not let CloudWatch publish"
    if name := topic.properties.get("KmsMasterKeyId"):
        key = stage.named(name, topic.stack)
        if key is None:
            yield f"{topic.id} has a key whose policy is not ours"
            return
        statements = stage.statements(key.properties["KeyPolicy"], key.stack)
        for action in ("kms:Decrypt", "kms:GenerateDataKey"):
            if not _cloudwatch_may(stage, statements, action, "*"):
                yield f"the key of {topic.id} does not let CloudWatch {action}"


def lost_logs(stage: Assembly) -> Iterator[str]:
    """Logs with a name that go with a stack that writes them, or that somebody may make again."""
    writers = {each.stack for each in stage.of("AWS::SageMaker::Endpoint")}
    for group in stage.of("AWS::Logs::LogGroup"):
        name = group.properties.get("LogGroupName")
        if name is None:  # CloudFormation names it anew each time
            continue
        if group.stack in writers:
            yield f"{group.id} goes with a first deploy that fails"
        arn = f"arn:aws:logs:{stage.region}:{stage.account}:log-group:{name}:log-stream:"
        for role in stage.of("AWS::IAM::Role"):
            if allows(stage.granted(role), "logs:CreateLogGroup", resource=arn):
                yield f"{role.id} may make {group.id} again"


def locked_volumes(stage: Assembly) -> Iterator[str]:
    """Volume keys that an execution role may not hand to EC2, or whose policies keep IAM out."""
    for config in stage.of("AWS::SageMaker::EndpointConfig"):
        if "KmsKeyId" not in config.properties:
            continue
        key = stage.named(config.properties["KmsKeyId"], config.stack)
        if key is None:
            yield f"{config.id} has a key whose policy is not ours"
            continue
        root = {"AWS": f"arn:aws:iam::{stage.account}:root"}
        admitted = [
            statement
            for statement in stage.statements(key.properties["KeyPolicy"], key.stack)
            if statement["Principal"] == root
        ]
        for role in _execution_roles(stage, config):
            context = {"kms:GrantIsForAWSResource": "true"}
            for action in ("kms:CreateGrant", "kms:DescribeKey"):
                by_role = stage.granted(role)
                if not allows(by_role, action, resource=f"<{key.id}>", context=context):
                    yield f"{role.id} lacks {action} on {key.id}, which encrypts its volumes"
                if not allows(admitted, action):
                    yield f"the policy of {key.id} does not let IAM allow {action}"


def missing_logs(stage: Assembly) -> Iterator[str]:
    """Inference components without the log group that nobody may make but the stage."""
    names = {each.properties.get("LogGroupName") for each in stage.of("AWS::Logs::LogGroup")}
    for component in stage.of("AWS::SageMaker::InferenceComponent"):
        name = component.properties["InferenceComponentName"]
        if f"/aws/sagemaker/InferenceComponents/{name}" not in names:
            yield f"{component.id} has no log group"


def replaced_in_use(stage: Assembly) -> Iterator[str]:
    """What may serve, and could be deleted or stand in the way when its replacement comes.

    CloudFormation makes a replacement first, moves what refers to it, and deletes what was replaced
    in the end, but only of resources without a name, and in order only along references.
    """
    for kind, name in (("Model", "ModelName"), ("EndpointConfig", "EndpointConfigName")):
        for item in stage.of(f"AWS::SageMaker::{kind}"):
            if name in item.properties:
                yield f"{item.id} has a name: its replacement cannot be made while it serves"
    served = [
        (item, item.properties["EndpointConfigName"])
        for item in stage.of("AWS::SageMaker::Endpoint")
    ]
    for config in stage.of("AWS::SageMaker::EndpointConfig"):
        variants = config.properties["ProductionVariants"]
        served += [(config, each["ModelName"]) for each in variants if "ModelName" in each]
    served += [
        (component, component.properties["Specification"]["ModelName"])
        for component in stage.of("AWS::SageMaker::InferenceComponent")
    ]
    for serving, what in served:
        if stage.named(what, serving.stack) is None:
            yield f"{serving.id} does not refer to what it serves: {what}"


def _execution_roles(stage: Assembly, config: Resource) -> list[Resource]:
    """Return the roles of the Models that a configuration serves."""
    variants = config.properties["ProductionVariants"]
    models = [
        stage.named(each["ModelName"], config.stack) for each in variants if "ModelName" in each
    ]
    roles = [
        stage.named(each.properties["ExecutionRoleArn"], each.stack)
        for each in (*models, config)
        if each and "ExecutionRoleArn" in each.properties
    ]
    return [role for role in roles if role]


def _cloudwatch_may(
    stage: Assembly, statements: Iterable[Statement], action: str, resource: str
) -> bool:
    context = {
        "aws:SecureTransport": "true",
        "aws:SourceAccount": stage.account,
        "aws:SourceArn": f"arn:aws:cloudwatch:{stage.region}:{stage.account}:alarm:one",
    }
    return allows(statements, action, resource=resource, named=CLOUDWATCH, context=context)
