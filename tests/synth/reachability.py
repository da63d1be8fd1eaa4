"""What must reach what, in templates of any stage: each check yields what is wrong as a line."""

from collections.abc import Iterator
from typing import Any

from tests.synth.assembly import Assembly, Resource
from tests.synth.statements import Statement, allows

CLOUDWATCH = "cloudwatch.amazonaws.com"


def unheard_alarms(stage: Assembly) -> Iterator[str]:
    """Alarms that nobody hears: of no action, of a topic that refuses them, or without a reader.

    An alarm that rolls updates back is heard by SageMaker.
    """
    heard = {
        it.id
        for endpoint in stage.of("AWS::SageMaker::Endpoint")
        for name in _rollback_alarms(endpoint)
        if (it := stage.named(name, endpoint.stack))
    }
    for alarm in stage.of("AWS::CloudWatch::Alarm"):
        actions = alarm.properties.get("AlarmActions", [])
        if not actions and alarm.id not in heard:
            yield f"{alarm.id} tells nobody"
        for action in actions:
            topic = stage.named(action, alarm.stack)
            if topic:  # another is the team's own
                yield from (f"{alarm.id}: {it}" for it in _deaf(stage, topic))


def _rollback_alarms(endpoint: Resource) -> list[Any]:
    rollback = endpoint.properties["DeploymentConfig"].get("AutoRollbackConfiguration", {})
    return [it["AlarmName"] for it in rollback.get("Alarms", [])]


def _deaf(stage: Assembly, topic: Resource) -> Iterator[str]:
    subscribed = [stage.named(it.properties["TopicArn"], it.stack)
                  for it in stage.of("AWS::SNS::Subscription")]  # fmt: skip
    if topic not in subscribed:
        yield f"nobody is subscribed to {topic.id}"
    policies = [
        it
        for it in stage.of("AWS::SNS::TopicPolicy")
        if topic in [stage.named(name, it.stack) for name in it.properties["Topics"]]
    ]
    # Without a policy of its own, a topic has SNS's, which lets the account's alarms publish.
    for policy in policies:
        statements = _statements(stage, policy.properties["PolicyDocument"], policy.stack)
        if not _cloudwatch_may(stage, statements, "sns:Publish", f"<{topic.id}>"):
            yield f"the policy of {topic.id} does not let CloudWatch publish"
    if name := topic.properties.get("KmsMasterKeyId"):
        key = stage.named(name, topic.stack)
        if key is None:
            yield f"{topic.id} has a key whose policy is not ours"
            return
        statements = _statements(stage, key.properties["KeyPolicy"], key.stack)
        for action in ("kms:Decrypt", "kms:GenerateDataKey"):
            if not _cloudwatch_may(stage, statements, action, "*"):
                yield f"the key of {topic.id} does not let CloudWatch {action}"


def _cloudwatch_may(
    stage: Assembly, statements: list[Statement], action: str, resource: str
) -> bool:
    context = {
        "aws:SecureTransport": "true",
        "aws:SourceAccount": stage.account,
        "aws:SourceArn": f"arn:aws:cloudwatch:{stage.region}:{stage.account}:alarm:one",
    }
    return allows(statements, action, resource=resource, service=CLOUDWATCH, context=context)


def _statements(stage: Assembly, document: Any, stack: str) -> list[Statement]:
    """Return a policy's statements with every value as text."""
    return [_plain(stage, it, stack) for it in document["Statement"]]


def _plain(stage: Assembly, value: Any, stack: str) -> Any:
    match value:
        case list():
            return [_plain(stage, it, stack) for it in value]
        case dict() if not any(key == "Ref" or key.startswith("Fn::") for key in value):
            return {key: _plain(stage, it, stack) for key, it in value.items()}
    return stage.text(value, stack)
