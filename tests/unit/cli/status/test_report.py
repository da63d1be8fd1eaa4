"""What `tritonsm status` asks AWS, and what it makes of the answers."""

import io
import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from cli.status.asked import report
from cli.status.local_state import LocalState
from cli.status.report import Loaded, Report, Requests
from cli.status.scope import Scope
from stage_record import Event
from tests.unit.release.preflight.conftest import Aws, denied, error

NOW = datetime(2026, 11, 22, 10, 6, 30, tzinfo=UTC)
PLACE = ("prod-text", "AllTraffic")
RESOURCE = "endpoint/prod-text/variant/AllTraffic"
DIMENSION = "sagemaker:variant:DesiredInstanceCount"
POLICY_ALARM = f"TargetTracking-{RESOURCE}-AlarmLow-1"

Values = Callable[[str, str], list[float]]


@pytest.fixture
def aws(aws: Aws) -> Aws:
    """An account with one endpoint of one variant, of which nothing more is known."""
    aws.answers = {
        "sagemaker.ListEndpoints": {"Endpoints": [_listed("prod-text")]},
        "sagemaker.DescribeEndpoint": lambda asked: _described(asked["EndpointName"]),
        "ssm.GetParametersByPath": {"Parameters": []},
        "application-autoscaling.DescribeScalableTargets": {"ScalableTargets": []},
        "application-autoscaling.DescribeScalingPolicies": {"ScalingPolicies": []},
        "cloudwatch.GetMetricData": _metric_data(lambda *_: []),
        "cloudwatch.DescribeAlarms": {"MetricAlarms": []},
        "cloudformation.DescribeStacks": error("ValidationError"),
        "cloudformation.GetTemplate": error("ValidationError"),
        "logs.FilterLogEvents": {"events": []},
    }
    return aws


def _listed(name: str) -> dict[str, Any]:
    return {
        "EndpointName": name,
        "EndpointArn": f"arn:aws:sagemaker:us-east-1:111122223333:endpoint/{name}",
        "CreationTime": NOW,
        "LastModifiedTime": NOW,
        "EndpointStatus": "InService",
    }


def _described(name: str, **more: Any) -> dict[str, Any]:
    variant = {
        "VariantName": "AllTraffic",
        "CurrentWeight": 1.0,
        "CurrentInstanceCount": 2,
        "DesiredInstanceCount": 3,
    }
    return {
        **_listed(name),
        "EndpointConfigName": name,
        "ProductionVariants": [variant],
        **more,
    }


def _metric_data(values: Values) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return what answers queries with the values of a metric and a statistic."""

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        results = []
        for it in asked["MetricDataQueries"]:
            if "Expression" in it:
                continue  # nothing is published of Triton's own metrics
            stat = it["MetricStat"]
            found = values(stat["Metric"]["MetricName"], stat["Stat"])
            results.append({"Id": it["Id"], "Values": found, "Timestamps": [NOW for _ in found]})
        return {"MetricDataResults": results}

    return answer


def _scaled(aws: Aws, *configurations: dict[str, Any]) -> None:
    target = {
        "ServiceNamespace": "sagemaker",
        "ResourceId": RESOURCE,
        "ScalableDimension": DIMENSION,
        "MinCapacity": 1,
        "MaxCapacity": 3,
        "RoleARN": "role",
        "CreationTime": NOW,
    }
    policies = [
        {
            "PolicyARN": "arn",
            "PolicyName": f"endpoint-prod-text-variant-AllTraffic-{number}",
            "ServiceNamespace": "sagemaker",
            "ResourceId": RESOURCE,
            "ScalableDimension": DIMENSION,
            "PolicyType": "TargetTrackingScaling",
            "TargetTrackingScalingPolicyConfiguration": it,
            "CreationTime": NOW,
        }
        for number, it in enumerate(configurations)
    ]
    aws.answers |= {
        "application-autoscaling.DescribeScalableTargets": {"ScalableTargets": [target]},
        "application-autoscaling.DescribeScalingPolicies": {"ScalingPolicies": policies},
        "application-autoscaling.DescribeScalingActivities": {"ScalingActivities": []},
    }


def _invocations(target: float) -> dict[str, Any]:
    kind = "SageMakerVariantInvocationsPerInstance"
    metric = {"PredefinedMetricType": kind}
    return {"TargetValue": target, "PredefinedMetricSpecification": metric}


def _gpu(target: float) -> dict[str, Any]:
    metric = {
        "MetricName": "GPUUtilization",
        "Namespace": "/aws/sagemaker/Endpoints",
        "Dimensions": [{"Name": "EndpointName", "Value": "prod-text"}],
        "Statistic": "Average",
        "Unit": "Percent",
    }
    return {"TargetValue": target, "CustomizedMetricSpecification": metric}


def _report(aws: Aws, scope: Scope | None = None, local: LocalState | None = None) -> Report:
    scope = scope or Scope("prod", ["dev", "prod"])
    return report(aws.session, scope, now=NOW, local=local)


def test_an_endpoint_has_its_variants_and_what_they_do(aws: Aws) -> None:
    values = {
        ("Invocations", "Sum"): [10.0, 20.0],
        ("Invocation4XXErrors", "Sum"): [1.0, 2.0],
        ("ModelLatency", "p50"): [4000.0, 6000.0],
        ("ModelLatency", "p95"): [9000.0, 8000.0],
        ("OverheadLatency", "Average"): [1500.0],
        ("CPUUtilization", "Average"): [20.0, 40.0],
        ("LoadedModelCount", "Maximum"): [3.0, 2.0],
    }
    aws.answers["cloudwatch.GetMetricData"] = _metric_data(lambda *it: values.get(it, []))
    found = _report(aws)
    assert (found.since, found.until) == (_minute(1), _minute(6))
    (endpoint,) = found.endpoints
    (variant,) = endpoint.variants
    assert (endpoint.name, endpoint.status, endpoint.reason) == ("prod-text", "InService", None)
    assert (variant.instances, variant.desired_instances, variant.weight) == (2, 3, 1.0)
    load = variant.load
    assert (load.calls_a_minute, load.errors_4xx, load.errors_5xx) == (6.0, 3, 0)
    assert (load.latency_p50_ms, load.latency_p95_ms, load.overhead_ms) == (6.0, 9.0, 1.5)
    assert (load.cpu_percent, load.gpu_percent, load.loaded_models) == (30.0, None, 3)


def _minute(minute: int) -> datetime:
    return NOW.replace(minute=minute, second=0)


def test_metrics_of_all_endpoints_are_one_request_of_the_last_full_minutes(aws: Aws) -> None:
    names = ["prod-image", "prod-text"]
    aws.answers["sagemaker.ListEndpoints"] = {"Endpoints": [_listed(it) for it in names]}
    _scaled(aws, _invocations(60))
    _report(aws)
    asked, _ = aws.requests("cloudwatch.GetMetricData")
    assert (asked["StartTime"], asked["EndTime"]) == (_minute(1), _minute(6))
    queries = [it["MetricStat"] for it in asked["MetricDataQueries"]]
    assert {it["Period"] for it in queries} == {60}
    assert {it["Metric"]["Dimensions"][0]["Value"] for it in queries} == set(names)
    assert "InvocationsPerInstance" in {it["Metric"]["MetricName"] for it in queries}


def test_requests_of_models_are_those_that_triton_publishes(aws: Aws) -> None:
    def answer(request: dict[str, Any]) -> dict[str, Any]:
        results = []
        for query in request["MetricDataQueries"]:
            if "nv_inference" in query.get("Expression", ""):
                assert query["Expression"].startswith('SEARCH(\'Namespace="Triton/prod-text" ')
                counts = [4.0, 5.0] if "success" in query["Expression"] else []
                series = {"Label": "minilm", "Values": counts, "Timestamps": [NOW] * len(counts)}
                results.append({"Id": query["Id"], **series})
        return {"MetricDataResults": results}

    assert _report(aws).requests == []
    aws.answers["cloudwatch.GetMetricData"] = answer
    assert _report(aws).requests == [Requests("prod-text", "minilm", "answered", 9.0)]


def test_a_broken_catalog_entry_does_not_end_the_report(aws: Aws) -> None:
    """Somebody on call needs the rest of it most of all then."""
    values = {"broken": "9999", "other": "{", "empty": "{}"}
    listed = [
        {"Name": f"/triton/prod/text/{name}", "Value": value} for name, value in values.items()
    ]
    aws.answers["ssm.GetParametersByPath"] = {"Parameters": listed}
    assert _report(aws).models == []


def test_more_metrics_than_a_request_takes_are_several(aws: Aws) -> None:
    names = [f"prod-{number:02}" for number in range(50)]  # 12 metrics each
    aws.answers["sagemaker.ListEndpoints"] = {"Endpoints": [_listed(it) for it in names]}
    values = _metric_data(lambda name, _: [5.0] if name == "Invocations" else [])
    aws.answers["cloudwatch.GetMetricData"] = values
    found = _report(aws)
    assert [len(it["MetricDataQueries"]) for it in aws.requests("cloudwatch.GetMetricData")] == [
        500,
        200,
        100,  # Triton's own
    ]
    assert {it.variants[0].load.calls_a_minute for it in found.endpoints} == {1.0}


def test_policies_have_what_they_follow_beside_their_targets(aws: Aws) -> None:
    steps = {"TargetValue": 1.0}
    _scaled(aws, _invocations(60), _gpu(70), steps)
    values = {
        ("InvocationsPerInstance", "Sum"): [30.0, 38.0],
        ("GPUUtilization", "Average"): [81.0],
    }
    aws.answers["cloudwatch.GetMetricData"] = _metric_data(lambda *it: values.get(it, []))
    scaling = _report(aws).endpoints[0].variants[0].scaling
    assert scaling
    assert (scaling.min, scaling.max) == (1, 3)
    assert [(it.measure, it.value, it.target, it.unit) for it in scaling.policies] == [
        ("invocations", 34.0, 60.0, "a minute"),
        ("GPU", 81.0, 70.0, "%"),
    ]


@pytest.mark.parametrize(
    ("speed", "seconds", "period", "value"),
    [(60.0, 5, 1, 34.0), (1.0, 300, 60, 34.0), (120.0, 2.5, 1, 17.0)],
)
def test_at_a_speed_policies_follow_minutes_that_are_so_much_shorter(
    aws: Aws, speed: float, seconds: float, period: int, value: float
) -> None:
    """At 120, a second is the shortest period that CloudWatch has, and two minutes of AWS's."""
    _scaled(aws, _invocations(60))
    aws.answers["cloudwatch.GetMetricData"] = _metric_data(lambda *_: [34.0])
    scaling = _report(aws, local=LocalState(speed, {})).endpoints[0].variants[0].scaling
    assert scaling
    assert scaling.policies[0].value == value
    asked = aws.requests("cloudwatch.GetMetricData")[-1]
    assert asked["EndTime"] - asked["StartTime"] == timedelta(seconds=seconds)
    assert {it["MetricStat"]["Period"] for it in asked["MetricDataQueries"]} == {period}


def test_at_a_speed_that_is_not_known_nothing_is_said_of_what_policies_follow(aws: Aws) -> None:
    _scaled(aws, _invocations(60))
    aws.answers["cloudwatch.GetMetricData"] = _metric_data(lambda *_: [34.0])
    scaling = _report(aws, local=LocalState()).endpoints[0].variants[0].scaling
    assert scaling
    assert scaling.policies[0].value is None


def test_only_what_is_of_the_stage_is_asked_for(aws: Aws) -> None:
    listed = ["prod-eu-text", "prod-text", "my-prod-text"]
    aws.answers["sagemaker.ListEndpoints"] = {"Endpoints": [_listed(it) for it in listed]}
    alarms = [_alarm(f"{it}-1", "ALARM") for it in ("prod-eu-text", "prod-text")]
    aws.answers["cloudwatch.DescribeAlarms"] = {"MetricAlarms": alarms}
    found = _report(aws, Scope("prod", ["prod", "prod-eu"]))
    assert [it.name for it in found.endpoints] == ["prod-text"]
    assert [it.name for it in found.alarms] == ["prod-text-1"]
    assert aws.requests("sagemaker.ListEndpoints")[0]["NameContains"] == "prod-"
    assert aws.requests("ssm.GetParametersByPath")[0]["Path"] == "/triton/prod/"


def _alarm(name: str, state: str, reason: str = "") -> dict[str, Any]:
    return {
        "AlarmName": name,
        "StateValue": state,
        "StateReason": reason,
        "StateTransitionedTimestamp": NOW,
    }


def test_alarms_that_are_ok_and_those_of_scaling_are_left_out(aws: Aws) -> None:
    states = {
        "prod-a": "OK",
        "prod-b": "ALARM",
        "prod-c": "INSUFFICIENT_DATA",
        POLICY_ALARM: "ALARM",
    }
    alarms = [_alarm(name, state, "Because.") for name, state in states.items()]
    aws.answers["cloudwatch.DescribeAlarms"] = {"MetricAlarms": alarms}
    found = _report(aws, Scope(None)).alarms
    assert [(it.name, it.state, it.since, it.reason) for it in found] == [
        ("prod-b", "ALARM", NOW, "Because."),
        ("prod-c", "INSUFFICIENT_DATA", NOW, "Because."),
    ]


def test_alarms_of_the_app_come_by_severity_in_the_units_of_the_stage(aws: Aws) -> None:
    descriptions = {
        "prod-a": ("warning: p99 model latency of prod-text, variant A", 1_000_000.0, 1_250_000.0),
        "prod-b": ("critical: share of 5xx answers of prod-text, variant A", 0.05, 0.5),
        "prod-c": ("somebody's own", 3.0, 4.0),
    }
    aws.answers["cloudwatch.DescribeAlarms"] = {
        "MetricAlarms": [
            {
                **_alarm(name, "ALARM"),
                "AlarmDescription": description,
                "Threshold": limit,
                "StateReasonData": json.dumps({"recentDatapoints": [0.0, value]}),
            }
            for name, (description, limit, value) in descriptions.items()
        ]
    }
    found = [
        (it.severity, it.endpoint, it.value, it.limit, it.unit, it.section)
        for it in _report(aws, Scope(None)).alarms
    ]
    assert found == [
        ("critical", "prod-text", 50, 5, "%", "ServerErrors"),
        ("warning", "prod-text", 1250, 1000, "ms", "LatencyP50, LatencyP99"),
        (None, None, 4, 3, "", None),
    ]


def test_the_latest_activities_of_scaled_variants_are_told(aws: Aws) -> None:
    _scaled(aws)
    activities = [
        {
            "ActivityId": str(number),
            "ServiceNamespace": "sagemaker",
            "ResourceId": RESOURCE,
            "ScalableDimension": DIMENSION,
            "Description": f"Setting desired instance count to {number}.",
            "Cause": "because",
            "StartTime": NOW - timedelta(minutes=number),
            "StatusCode": "Successful",
        }
        for number in (2, 1, 3, 4, 5, 6)
    ]
    answer = {"ScalingActivities": activities}
    aws.answers["application-autoscaling.DescribeScalingActivities"] = answer
    found = _report(aws).activities
    assert [it.description[-2] for it in found] == ["1", "2", "3", "4", "5"]
    (asked,) = aws.requests("application-autoscaling.DescribeScalingActivities")
    assert asked["ResourceId"] == RESOURCE


def test_models_are_those_of_the_catalog_and_on_the_local_sagemaker_where_they_are_loaded(
    aws: Aws,
) -> None:
    aws.answers["ssm.GetParametersByPath"] = {
        "Parameters": [
            {"Name": "/triton/prod/delivered", "Value": "[]"},
            {"Name": "/triton/prod/text/minilm", "Value": _entry("minilm-1.tar.gz")},
        ]
    }
    (model,) = _report(aws).models
    assert (model.endpoint, model.name, model.version) == ("prod-text", "minilm", "1")
    assert (model.archive, model.loaded) == ("minilm-1.tar.gz", None)
    loaded = {"target": "minilm-1.tar.gz", "state": "loaded", "memory": 7}
    other = {"target": "minilm-0.tar.gz", "state": "unloading", "memory": None}
    instance = {"id": "i-1", "models": [other, loaded]}
    state = {"variants": [{"name": "AllTraffic", "instances": [instance]}]}
    model, earlier = _report(aws, local=LocalState(60, {"prod-text": state})).models
    assert model.loaded == [Loaded("AllTraffic", "i-1", "loaded", 7)]
    assert (earlier.version, earlier.in_catalog) == ("0", False)
    assert earlier.loaded == [Loaded("AllTraffic", "i-1", "unloading", None)]
    (model,) = _report(aws, local=LocalState()).models
    assert model.loaded is None


def test_models_have_the_errors_of_triton_that_name_them(aws: Aws) -> None:
    parameter = {"Name": "/triton/prod/text/minilm", "Value": _entry("minilm-1.tar.gz")}
    aws.answers["ssm.GetParametersByPath"] = {"Parameters": [parameter]}
    failed = "E1122 10:05:00.0 2 python_be.cc:1] \"Failed ... for model 'minilm-1.tar.gz_0'\""
    events = [{"message": it} for it in (failed, failed, failed.replace("minilm-1", "bert-1"))]
    aws.answers["logs.FilterLogEvents"] = {"events": events}
    assert [it.log_errors for it in _report(aws).models] == [2]
    (asked,) = aws.requests("logs.FilterLogEvents")
    assert asked["logGroupName"] == "/aws/sagemaker/Endpoints/prod-text"
    assert (asked["startTime"], asked["endTime"]) == tuple(
        _minute(it).timestamp() * 1000 for it in (1, 6)
    )


def test_an_endpoint_that_has_not_logged_yet_has_no_errors(aws: Aws) -> None:
    parameter = {"Name": "/triton/prod/text/minilm", "Value": _entry("minilm-1.tar.gz")}
    aws.answers["ssm.GetParametersByPath"] = {"Parameters": [parameter]}
    aws.answers["logs.FilterLogEvents"] = error("ResourceNotFoundException")
    assert [it.log_errors for it in _report(aws).models] == [0]


def _entry(archive: str) -> str:
    names = {"model": "minilm", "version": "1", "endpoint": "prod-text"}
    return json.dumps({**names, "target_model": archive, "signature": {}})


def test_what_a_caller_may_not_ask_is_said_and_the_rest_is_there(aws: Aws) -> None:
    _scaled(aws, _invocations(60))
    aws.answers["cloudwatch.GetMetricData"] = denied("cloudwatch:GetMetricData")
    aws.answers["cloudwatch.DescribeAlarms"] = error("AccessDenied", operation="DescribeAlarms")
    aws.answers["ssm.GetParametersByPath"] = denied("ssm:GetParametersByPath")
    found = _report(aws)
    assert found.not_asked == [
        "models: not allowed to ask (ssm:GetParametersByPath)",
        "load: not allowed to ask (cloudwatch:GetMetricData)",
        "alarms: not allowed to ask (DescribeAlarms)",
        "requests by model: not allowed to ask (cloudwatch:GetMetricData)",
    ]
    assert found.requests is None
    (variant,) = found.endpoints[0].variants
    assert variant.load.errors_4xx is None
    assert variant.scaling
    assert (variant.scaling.max, variant.scaling.policies[0].value) == (3, None)


def test_what_fails_otherwise_is_an_error(aws: Aws) -> None:
    aws.answers["cloudwatch.GetMetricData"] = error("InternalServiceFault")
    with pytest.raises(ClientError, match="InternalServiceFault"):
        _report(aws)


def test_an_endpoint_that_is_deleted_meanwhile_is_left_out(aws: Aws) -> None:
    gone = error("ValidationException", 'Could not find endpoint "prod-text".')
    aws.answers["sagemaker.DescribeEndpoint"] = gone
    assert _report(aws).endpoints == []
    aws.answers["sagemaker.DescribeEndpoint"] = error("ValidationException", "Something else")
    with pytest.raises(ClientError, match="Something else"):
        _report(aws)


ENTRY = {
    "model": "minilm",
    "version": "a",
    "endpoint": "prod-text",
    "target_model": "minilm-a.tar.gz",
    "signature": {},
}
URL = {"Fn::Join": ["", ["s3://", "bucket", "/text/cpu-24.09/"]]}
TEMPLATE = {
    "Resources": {
        "Model": {
            "Type": "AWS::SageMaker::Model",
            "Properties": {"PrimaryContainer": {"Mode": "MultiModel", "ModelDataUrl": URL}},
        },
        "Endpoint": {
            "Type": "AWS::SageMaker::Endpoint",
            "Properties": {
                "EndpointName": "prod-text",
                "EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]},
            },
        },
        "Entry": {
            "Type": "AWS::SSM::Parameter",
            "Properties": {"Name": "/triton/prod/text/minilm", "Value": json.dumps(ENTRY)},
        },
    }
}


def _deployed(aws: Aws, config: str, *, status: str = "UPDATE_COMPLETE") -> None:
    """Have a stack whose configuration is `config`, and nothing in catalog and bucket."""
    bucket = {"OutputKey": "ExportsOutputRefModelsBucket970C6ADA", "OutputValue": "bucket"}
    stack = {"StackName": "it", "CreationTime": NOW, "StackStatus": status, "Outputs": [bucket]}
    detail = {
        "LogicalResourceId": "Config",
        "ResourceType": "AWS::SageMaker::EndpointConfig",
        "LastUpdatedTimestamp": NOW,
        "ResourceStatus": "UPDATE_COMPLETE",
        "PhysicalResourceId": f"arn:aws:sagemaker:us-east-1:1:endpoint-config/{config}",
    }
    aws.answers |= {
        "cloudformation.DescribeStacks": {"Stacks": [stack]},
        "cloudformation.GetTemplate": {"TemplateBody": json.dumps(TEMPLATE)},
        "cloudformation.DescribeStackResource": {"StackResourceDetail": detail},
        "s3.GetObject": error("NoSuchKey"),
        "s3.ListObjectsV2": {},
    }


def test_what_differs_from_the_live_templates_is_named_with_its_command(aws: Aws) -> None:
    """As a delivery finds it: the endpoint's configuration, the catalog and the bucket."""
    _deployed(aws, "another")
    endpoint, entry, archive = _report(aws).differences
    assert "it serves with prod-text, and prod-text made another" in endpoint.text
    assert (entry.subject, entry.text) == ("text/minilm", "the catalog has no entry")
    assert entry.command == "make deliver STAGE=prod"
    assert archive.text == "s3://bucket/text/cpu-24.09/minilm-a.tar.gz is not there"


def test_a_stack_in_a_failed_state_is_a_difference_and_nothing_else_is_compared(aws: Aws) -> None:
    _deployed(aws, "another", status="UPDATE_ROLLBACK_FAILED")
    (stack,) = _report(aws).differences
    assert (stack.subject, stack.text) == ("prod-text", "the stack is UPDATE_ROLLBACK_FAILED")


def test_an_endpoint_that_was_deleted_by_hand_is_a_difference(aws: Aws) -> None:
    """Nothing lists it any more: its clients alone knew."""
    _deployed(aws, "another")
    listed = [{"Name": "/triton/prod/text/minilm", "Value": json.dumps(ENTRY)}]
    gone = error("ValidationException", 'Could not find endpoint "prod-text".')
    aws.answers |= {
        "ssm.GetParametersByPath": {"Parameters": listed},
        "sagemaker.ListEndpoints": {"Endpoints": []},
        "sagemaker.DescribeEndpoint": gone,
    }
    endpoint, _ = _report(aws).differences
    assert endpoint.subject == "prod-text"
    assert endpoint.text.startswith("does not exist: somebody deleted it. No call is answered")


def test_a_stack_that_was_deleted_by_hand_is_a_difference(aws: Aws) -> None:
    """Its catalog entries went with it: the record of deliveries alone knows of the endpoint."""
    _deployed(aws, "another")
    versions = {"text/minilm": "a"}
    delivered = Event(
        stage="prod", action="deliver", who="ada", versions=versions, commit="c" * 40
    ).end("delivered")
    body = json.dumps(asdict(delivered)).encode()
    key = f"history/{delivered.name}.ended.json"
    models = aws.answers["cloudformation.DescribeStacks"]

    def describe_stacks(request: dict[str, Any]) -> Any:
        if request["StackName"] != "prod-models":
            raise error("ValidationError")
        return models

    aws.answers |= {
        "sagemaker.ListEndpoints": {"Endpoints": []},
        "cloudformation.DescribeStacks": describe_stacks,
        "s3.ListObjectsV2": {"Contents": [{"Key": key}]},
        "s3.GetObject": {"Body": StreamingBody(io.BytesIO(body), len(body))},
    }
    (stack,) = _report(aws).differences
    assert (stack.subject, stack.command) == ("prod-text", "make deliver STAGE=prod")
    assert stack.text == "the stack does not exist: somebody deleted it"
