"""Random changes of one class each: what makes a stage less safe, and what does not."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from release.tree import Template
from tests.review_changes.changes import Impossible
from tests.review_changes.stages import Synthesised, synthesised

OTHER = "999999999999"
Resource = dict[str, Any]
Edit = Callable[[random.Random, Resource], None]


class AimedChange(NamedTuple):
    """The stage that changes, its templates afterwards, and the resource that was edited."""

    stage: Synthesised
    after: dict[str, Template]
    resource: str


class Aim(NamedTuple):
    """An edit of a resource of a type, and the rule whose danger it is, empty for none."""

    type: str
    edit: Edit
    rule: str = ""
    stage: str = "prod"


def aimed_change(seed: int, aim: Aim) -> AimedChange:
    """Return the change of a seed: a resource of the aim's type is drawn, and edited."""
    draw = random.Random(seed)
    stage = synthesised(aim.stage)
    places = [
        (stack, name)
        for stack, template in stage.templates.items()
        for name, resource in template["Resources"].items()
        if resource["Type"] == aim.type
    ]
    draw.shuffle(places)
    for stack, name in places:
        template = json.loads(json.dumps(stage.templates[stack]))
        try:
            aim.edit(draw, template["Resources"][name]["Properties"])
        except (Impossible, KeyError):
            continue
        if template != stage.templates[stack]:
            return AimedChange(stage, {**stage.templates, stack: template}, f"{stack}/{name}")
    raise AssertionError(f"no {aim.type} of {aim.stage} can be changed so")


def put(*steps: Any) -> Edit:
    """Return an edit that sets a value, the last argument, below the others."""
    *way, last, value = steps

    def edit(_: random.Random, here: Any) -> None:
        for step in way:
            here = here[step]
        if isinstance(here, dict) and last not in here and way:
            raise Impossible
        here[last] = value(here[last]) if callable(value) else value

    return edit


def gone(*steps: Any) -> Edit:
    """Return an edit that deletes a property."""

    def edit(_: random.Random, here: Any) -> None:
        for step in steps[:-1]:
            here = here[step]
        del here[steps[-1]]

    return edit


def _statements(properties: Resource, effect: str) -> Iterator[dict[str, Any]]:
    documents = [value for value in properties.values() if isinstance(value, dict)]
    for document in documents:
        for statement in document.get("Statement", ()):
            if statement["Effect"] == effect:
                yield statement


def of_statement(change: Callable[[dict[str, Any]], None], effect: str = "Allow") -> Edit:
    """Return an edit of one statement of a policy."""

    def edit(draw: random.Random, properties: Resource) -> None:
        statements = list(_statements(properties, effect))
        draw.shuffle(statements)
        for statement in statements:
            try:
                return change(statement)
            except KeyError:
                continue
        raise Impossible

    return edit


def _not_action(statement: dict[str, Any]) -> None:
    del statement["Action"]
    statement["NotAction"] = ["iam:*", "organizations:*"]


def _not_resource(statement: dict[str, Any]) -> None:
    del statement["Resource"]
    statement["NotResource"] = "arn:aws:s3:::unknown"


def _not_principal(statement: dict[str, Any]) -> None:
    del statement["Principal"]
    statement["NotPrincipal"] = {"AWS": f"arn:aws:iam::{OTHER}:root"}


def _no_condition(statement: dict[str, Any]) -> None:
    del statement["Condition"]


def _another_condition(statement: dict[str, Any]) -> None:
    operator, keys = next(iter(statement["Condition"].items()))
    statement["Condition"] = {operator: dict.fromkeys(keys, "unknown")}


def _allows_nothing_more(statement: dict[str, Any]) -> None:
    statement["Condition"] = {
        **statement.get("Condition", {}),
        "DateGreaterThan": {"aws:CurrentTime": "2026-01-01T00:00:00Z"},
    }


def _denied_nothing(statement: dict[str, Any]) -> None:
    statement["Effect"] = "Allow"
    statement["Principal"] = {"Service": "sagemaker.amazonaws.com"}


def _alarm_stricter(_: random.Random, alarm: Resource) -> None:
    if "Threshold" not in alarm or not alarm["Threshold"]:
        raise Impossible
    is_low = alarm["ComparisonOperator"].startswith("Less")
    alarm["Threshold"] = alarm["Threshold"] * (2 if is_low else 0.5)


def _alarm_weaker(_: random.Random, alarm: Resource) -> None:
    if "Threshold" not in alarm or not alarm["Threshold"]:
        raise Impossible
    is_low = alarm["ComparisonOperator"].startswith("Less")
    alarm["Threshold"] = alarm["Threshold"] * (0.5 if is_low else 3)


def _schedule(least: int, most: int) -> Edit:
    action = {
        "ScheduledActionName": "noon",
        "Schedule": "cron(0 12 ? * * *)",
        "Timezone": "UTC",
        "ScalableTargetAction": {"MinCapacity": least, "MaxCapacity": most},
    }
    return lambda _, target: target.update(ScheduledActions=[action])


def _percent(value: int) -> int:
    return max(value // 10, 1)


POLICY, ROUTING = "AWS::IAM::Policy", ("DeploymentConfig", "BlueGreenUpdatePolicy")
BAKE = (*ROUTING, "TrafficRoutingConfiguration")
ENDPOINT, SCALING = "AWS::SageMaker::Endpoint", "AWS::ApplicationAutoScaling::ScalableTarget"
ALARM, CAPTURE = "AWS::CloudWatch::Alarm", "DataCaptureConfig"
CONFIG, MODEL = "AWS::SageMaker::EndpointConfig", "AWS::SageMaker::Model"
IMAGE = f"{OTHER}.dkr.ecr.us-east-1.amazonaws.com/triton:1"

DANGEROUS: dict[str, Aim] = {
    # IAM's semantics
    "everything but some actions": Aim(POLICY, of_statement(_not_action), "widened_access"),
    "everything but one resource": Aim(POLICY, of_statement(_not_resource), "widened_access"),
    "all but one principal": Aim(
        "AWS::KMS::Key", of_statement(_not_principal), "public_exposure"),
    "a condition is removed": Aim(POLICY, of_statement(_no_condition), "widened_access"),
    "another condition": Aim(POLICY, of_statement(_another_condition), "widened_access"),
    "a denial becomes a grant": Aim(
        "AWS::S3::BucketPolicy", of_statement(_denied_nothing, "Deny"), "widened_access"),
    "no way out is absent": Aim(
        "AWS::EC2::SecurityGroup", gone("SecurityGroupEgress"), "internet_routes"),
    # amounts
    "no time to bake": Aim(ENDPOINT, put(*BAKE, "WaitIntervalInSeconds", 0), "lost_rollback"),
    "linear steps without a wait": Aim(
        ENDPOINT, put(*BAKE, "WaitIntervalInSeconds", 0), "lost_rollback", "all"),
    "all at once": Aim(ENDPOINT, put(*BAKE, {"Type": "ALL_AT_ONCE"}), "lost_rollback"),
    "old instances go at once": Aim(
        ENDPOINT, put(*ROUTING, "TerminationWaitInSeconds", 0), "lost_rollback"),
    "a schedule that lowers, and none that raises": Aim(SCALING, _schedule(1, 8), "low_minimum"),
    "a schedule with a low maximum": Aim(SCALING, _schedule(2, 2), "lost_scaling"),
    "a target of ten times as much": Aim(
        "AWS::ApplicationAutoScaling::ScalingPolicy",
        put("TargetTrackingScalingPolicyConfiguration", "TargetValue", lambda old: 10 * old),
        "lost_scaling",
    ),
    "a maximum of a third": Aim(SCALING, put("MaxCapacity", 2), "lost_scaling"),
    "a tenth of what was captured": Aim(
        CONFIG, put(CAPTURE, "InitialSamplingPercentage", _percent), "lost_records", "all"),
    "logs for a tenth of the days": Aim(
        "AWS::Logs::LogGroup", put("RetentionInDays", 3), "lost_records"),
    "a weaker alarm": Aim(ALARM, _alarm_weaker, "weakened_alarms"),
    # origins
    "an image of another account": Aim(
        MODEL, put("PrimaryContainer", "Image", IMAGE), "foreign_origins"),
    "an image of another registry": Aim(
        "AWS::CodeBuild::Project",
        put("Environment", "Image", "quay.io/somebody/python:3"), "foreign_origins"),
    "models of another bucket": Aim(
        MODEL, put("PrimaryContainer", "ModelDataUrl", "s3://theirs/models/"), "foreign_origins"),
    "a layer of another account": Aim(
        "AWS::Lambda::Function",
        put("Layers", [f"arn:aws:lambda:us-east-1:{OTHER}:layer:x:1"]), "foreign_origins"),
    "captured requests for another bucket": Aim(
        CONFIG, put(CAPTURE, "DestinationS3Uri", "s3://theirs/captured"), "foreign_origins", "all"),
    "a replica for another account": Aim(
        "AWS::S3::Bucket", put("ReplicationConfiguration", {"Rules": [{"Destination": {
            "Bucket": "arn:aws:s3:::theirs", "Account": OTHER}}]}), "foreign_origins"),
}  # fmt: skip

HARMLESS: dict[str, Aim] = {
    "one more condition": Aim(POLICY, of_statement(_allows_nothing_more)),
    "a stricter alarm": Aim(ALARM, _alarm_stricter),
    "a stricter alarm of another stage": Aim(ALARM, _alarm_stricter, stage="all"),
    "an alarm that goes off at once": Aim(ALARM, put("DatapointsToAlarm", lambda _: 1)),
    "more time to bake": Aim(ENDPOINT, put(*BAKE, "WaitIntervalInSeconds", lambda old: 2 * old)),
    "old instances stay": Aim(
        ENDPOINT, put(*ROUTING, "TerminationWaitInSeconds", lambda old: 2 * old)),
    "more instances at most": Aim(SCALING, put("MaxCapacity", lambda old: 2 * old)),
    "a target of twice as much": Aim(
        "AWS::ApplicationAutoScaling::ScalingPolicy",
        put("TargetTrackingScalingPolicyConfiguration", "TargetValue", lambda old: 2 * old),
    ),
    "a schedule that raises": Aim(SCALING, _schedule(3, 12)),
    "logs for longer": Aim("AWS::Logs::LogGroup", put("RetentionInDays", 3653)),
    "half of what was captured": Aim(
        CONFIG, put(CAPTURE, "InitialSamplingPercentage", lambda old: old - old // 3), stage="all"),
    "more memory": Aim("AWS::Lambda::Function", put("MemorySize", 2048)),
    "a tag": Aim("AWS::S3::Bucket", put("Tags", [{"Key": "team", "Value": "search"}])),
}  # fmt: skip
