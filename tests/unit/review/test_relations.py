"""Two numbers of one stage, of which each alone looks harmless."""

import copy
import json
from typing import Any

import pytest

from review.comparison import Comparison
from review.dangers import dangers
from tests.unit.review.edits import PROD, Edit, put, together

ALARM = {
    "Type": "AWS::CloudWatch::Alarm",
    "Properties": {
        "MetricName": "Errors",
        "Namespace": "/aws/sagemaker/Endpoints",
        "Period": 60,
        "EvaluationPeriods": 5,
        "DatapointsToAlarm": 3,
    },
}
CANARY = {
    "Type": "CANARY",
    "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 10},
    "WaitIntervalInSeconds": 300,
}
WAITER = {
    "States": {"poll": {"Retry": [{"IntervalSeconds": 10, "MaxAttempts": 240, "BackoffRate": 1}]}}
}


def function(timeout: int, **variables: Any) -> dict[str, Any]:
    properties = {"Timeout": timeout, "Environment": {"Variables": variables}}
    return {"Type": "AWS::Lambda::Function", "Properties": properties}


RESOURCES: dict[str, Any] = {
    "Alarm": ALARM,
    "Endpoint": {
        "Type": "AWS::SageMaker::Endpoint",
        "Properties": {
            "DeploymentConfig": {
                "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": {"Ref": "Alarm"}}]},
                "BlueGreenUpdatePolicy": {
                    "TerminationWaitInSeconds": 240,
                    "TrafficRoutingConfiguration": CANARY,
                },
            }
        },
    },
    "Config": {
        "Type": "AWS::SageMaker::EndpointConfig",
        "Properties": {"MetricsConfig": {"MetricPublishFrequencyInSeconds": 60}},
    },
    "Handler": function(60),
    "Provider": function(
        120,
        HANDLER_FUNCTION_ARN={"Fn::GetAtt": ["Handler", "Arn"]},
        WAITER_STATE_MACHINE_ARN={"Ref": "Waiter"},
    ),
    "Waiter": {
        "Type": "AWS::StepFunctions::StateMachine",
        "Properties": {"DefinitionString": json.dumps(WAITER)},
    },
    "Import": {
        "Type": "Custom::Import",
        "Properties": {
            "ServiceToken": {"Fn::GetAtt": ["Provider", "Arn"]},
            "WaitMinutes": "30",
        },
    },
    "Queue": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 90}},
    "Mapping": {
        "Type": "AWS::Lambda::EventSourceMapping",
        "Properties": {
            "EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]},
            "FunctionName": {"Ref": "Handler"},
        },
    },
}


def waiter(attempts: int) -> Edit:
    text = json.dumps(WAITER).replace("240", str(attempts))
    return put("Waiter", "DefinitionString", text)


ROUTING = ("Endpoint", "DeploymentConfig", "BlueGreenUpdatePolicy", "TrafficRoutingConfiguration")
LINEAR = {
    "Type": "LINEAR",
    "LinearStepSize": {"Type": "CAPACITY_PERCENT", "Value": 20},
    "WaitIntervalInSeconds": 120,
}
BROKEN: dict[str, tuple[Edit, str]] = {
    "canary": (
        put(*ROUTING, "WaitIntervalInSeconds", 120),
        "Errors needs 3 periods of bad data, 3 min, but each step waits 2 min: all traffic moves",
    ),
    "linear": (put(*ROUTING, LINEAR), "40 % of the traffic has moved before an alarm can roll"),
    "all at once": (
        together(
            put(*ROUTING, {"Type": "ALL_AT_ONCE"}),
            put(*ROUTING[:-1], "TerminationWaitInSeconds", 120),
        ),
        "the old instances stay 2 min: they are gone before",
    ),
    "slower alarm": (
        put("Alarm", "Period", 300),
        "needs 3 periods of bad data, 15 min, but each step waits 5 min",
    ),
    "slower expression": (
        lambda resources: resources["Alarm"]["Properties"].update(
            Period=None, Metrics=[{"MetricStat": {"Period": 120}}, {"Expression": "m1"}]
        ),
        "needs 3 periods of bad data, 6 min, but each step waits 5 min",
    ),
    "provider": (
        waiter(100),
        "WaitMinutes promises to wait 30 min, but its provider polls for 1000 s: a deployment",
    ),
    "promise": (put("Import", "WaitMinutes", "50"), "WaitMinutes promises to wait 50 min, but"),
    "CloudFormation": (waiter(400), "its provider polls for 4000 s, but CloudFormation waits 60"),
    "handler": (
        put("Handler", "Timeout", 600),
        "Handler may take 10 min, but the function that waits for it has 2 min: it ends before",
    ),
    "queue": (
        put("Queue", "VisibilityTimeout", 30),
        "the function may take 60 s, but a message is invisible for 30 s: messages are handled",
    ),
    "metrics": (
        put("Config", "MetricsConfig", "MetricPublishFrequencyInSeconds", 120),
        "3 data points come in 6 min, but the alarm looks at 5 min: it cannot go off",
    ),
}  # fmt: skip
KEPT: dict[str, Edit] = {
    "still longer": put(*ROUTING, "WaitIntervalInSeconds", 180),
    "provider with a shorter promise": together(waiter(180), put("Import", "WaitMinutes", "30")),
    "handler and provider": put("Handler", "Timeout", 90),
    "other definition": put("Waiter", "DefinitionString", "{}"),
    "unknown period": put("Alarm", "Period", {"Ref": "Period"}),
}


def messages(before: dict[str, Any], *edits: Edit) -> list[str]:
    after = copy.deepcopy(before)
    for edit in edits:
        edit(after)
    sides = [{"prod-text": {"Resources": side}} for side in (before, after)]
    result = dangers(Comparison("prod", sides[0], sides[1], PROD, PROD))
    return [text for danger in result for text in (danger.message, *danger.consequences)]


@pytest.mark.parametrize("title", BROKEN)
def test_broken_relation_is_a_danger(title: str) -> None:
    edit, text = BROKEN[title]
    result = messages(RESOURCES, edit)
    assert [message for message in result if text in message], result


@pytest.mark.parametrize("title", KEPT)
def test_other_numbers_that_fit_are_no_danger(title: str) -> None:
    assert not [message for message in messages(RESOURCES, KEPT[title]) if ", but " in message]


def test_relation_that_was_broken_before_is_no_danger() -> None:
    broken = copy.deepcopy(RESOURCES)
    put("Handler", "Timeout", 600)(broken)
    result = messages(broken, put("Provider", "Timeout", 150))
    assert not [message for message in result if ", but " in message]


def test_provider_of_another_stack() -> None:
    token = {"Fn::ImportValue": "prod-models:Token"}
    outputs = {"Token": {"Value": {"Fn::GetAtt": ["Provider", "Arn"]},
                         "Export": {"Name": "prod-models:Token"}}}  # fmt: skip
    models = {name: RESOURCES[name] for name in ("Handler", "Provider", "Waiter")}
    resource = copy.deepcopy(RESOURCES["Import"])
    resource["Properties"]["ServiceToken"] = token
    after = copy.deepcopy(models)
    waiter(100)(after)
    sides = [
        {
            "prod-models": {"Resources": side, "Outputs": outputs},
            "prod-text": {"Resources": {"Import": resource}},
        }
        for side in (models, after)
    ]
    result = dangers(Comparison("prod", sides[0], sides[1], PROD, PROD))
    assert [danger for danger in result if "prod-text/Import: WaitMinutes" in danger.message]
