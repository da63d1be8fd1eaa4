"""EndpointMetrics and EndpointMonitoring."""

import json
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_sns as sns

from tests.synth.endpoints import Scene
from triton_sagemaker import AlarmThresholds, AlarmTopic, Severity

ALARM = "AWS::CloudWatch::Alarm"


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.parametrize(
    ("method", "namespace", "name", "statistic"),
    [
        ("invocations", "AWS/SageMaker", "Invocations", "Sum"),
        ("invocations_per_instance", "AWS/SageMaker", "InvocationsPerInstance", "Sum"),
        ("server_error_rate", "AWS/SageMaker", "Invocation5XXErrors", "Average"),
        ("client_error_rate", "AWS/SageMaker", "Invocation4XXErrors", "Average"),
        ("model_error_rate", "AWS/SageMaker", "InvocationModelErrors", "Average"),
        ("model_latency", "AWS/SageMaker", "ModelLatency", "p99"),
        ("overhead_latency", "AWS/SageMaker", "OverheadLatency", "Average"),
        ("model_cache_hit_rate", "AWS/SageMaker", "ModelCacheHit", "Average"),
        ("model_loading_wait", "AWS/SageMaker", "ModelLoadingWaitTime", "Maximum"),
        ("model_downloading_time", "AWS/SageMaker", "ModelDownloadingTime", "Maximum"),
        ("model_loading_time", "AWS/SageMaker", "ModelLoadingTime", "Maximum"),
        ("model_unloads", "AWS/SageMaker", "ModelUnloadingTime", "SampleCount"),
        ("loaded_models", "/aws/sagemaker/Endpoints", "LoadedModelCount", "Sum"),
        ("cpu_utilization", "/aws/sagemaker/Endpoints", "CPUUtilization", "Average"),
        ("memory_utilization", "/aws/sagemaker/Endpoints", "MemoryUtilization", "Average"),
        ("gpu_utilization", "/aws/sagemaker/Endpoints", "GPUUtilization", "Average"),
        ("gpu_memory_utilization", "/aws/sagemaker/Endpoints", "GPUMemoryUtilization", "Average"),
        ("disk_utilization", "/aws/sagemaker/Endpoints", "DiskUtilization", "Average"),
    ],
)
def test_metrics_are_those_that_sagemaker_publishes(
    scene: Scene, method: str, namespace: str, name: str, statistic: str
) -> None:
    (variant,) = scene.endpoint().instance_production_variants
    metric = getattr(variant, f"metric_{method}")()
    assert (metric.namespace, metric.metric_name) == (namespace, name)
    assert (metric.statistic, metric.unit) == (statistic, None)
    assert metric.dimensions == {"EndpointName": "under-test", "VariantName": "AllTraffic"}
    assert metric.period.to_seconds() == 60


def test_a_metric_is_of_its_variant_with_the_options_of_its_user(scene: Scene) -> None:
    endpoint = scene.endpoint(scene.variant(variant_name="A"), scene.variant(variant_name="B"))
    latency = endpoint.find_instance_production_variant("B").metric_model_latency()
    metric = latency.with_(statistic="p50", period=Duration.minutes(5), label="median")
    assert metric.dimensions == {"EndpointName": "under-test", "VariantName": "B"}
    assert metric.period.to_minutes() == 5
    assert (metric.statistic, metric.label) == ("p50", "median")


def test_every_alarm_watches_metrics_by_the_two_dimensions_that_exist(scene: Scene) -> None:
    scene.endpoint().monitor()
    alarms = _alarms(scene)
    assert alarms
    for alarm in alarms.values():
        for metric in [alarm, *_metrics(alarm)]:
            if "Dimensions" in metric:
                names = {dimension["Name"] for dimension in metric["Dimensions"]}
                assert names == {"EndpointName", "VariantName"}


def test_no_alarm_names_a_unit_that_its_metric_might_not_have(scene: Scene) -> None:
    # It would never see data, and one that rolls updates back would never go off.
    scene.endpoint().monitor()
    assert "Unit" not in json.dumps(scene.template().find_resources(ALARM))


def test_models_that_nobody_asks_for_do_not_alarm_when_they_leave_memory(scene: Scene) -> None:
    # After a deploy no model is loaded until it is asked for.
    scene.endpoint().monitor()
    (alarm,) = (each for name, each in _alarms(scene).items() if "LoadedModels" in name)
    expression, *metrics = alarm["Metrics"]
    assert expression["Expression"] == "IF(measured < 1, requests, 0)"
    assert expression["ReturnData"] is not False
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == (
        "GreaterThanOrEqualToThreshold",
        1,
    )
    assert {
        metric["Id"]: (metric["MetricStat"]["Metric"]["MetricName"], metric["MetricStat"]["Stat"])
        for metric in metrics
    } == {"measured": ("LoadedModelCount", "Sum"), "requests": ("Invocations", "Sum")}
    assert [metric["ReturnData"] for metric in metrics] == [False, False]


def test_three_bad_minutes_of_five_alarm_and_silence_does_not(scene: Scene) -> None:
    # Errors that come and go are errors, one bad minute is none; at night nobody asks.
    scene.endpoint().monitor()
    for alarm in _alarms(scene).values():
        assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]) == (3, 5)
        assert alarm["TreatMissingData"] == "notBreaching"


def test_default_alarms_of_a_multi_model_endpoint_on_gpus(scene: Scene) -> None:
    scene.endpoint().monitor()
    assert sorted(_thresholds(scene)) == [
        ("DiskUtilization", "critical", 95),
        ("DiskUtilization", "warning", 80),
        ("GPUMemoryUtilization", "critical", 97),
        ("GPUMemoryUtilization", "warning", 90),
        ("Invocation4XXErrors", "warning", 0.1),
        ("Invocation5XXErrors", "critical", 0.05),
        ("Invocation5XXErrors", "warning", 0.01),
        ("InvocationModelErrors", "critical", 0.2),
        ("LoadedModelCount", "warning", 1),
        ("ModelCacheHit", "warning", 0.8),
        ("ModelLatency", "critical", 5_000_000),
        ("ModelLatency", "warning", 1_000_000),
        ("ModelLoadingWaitTime", "critical", 60_000_000),
        ("ModelLoadingWaitTime", "warning", 10_000_000),
        ("ModelUnloadingTime", "warning", 10),
    ]


def test_single_model_endpoints_have_no_alarms_of_a_model_cache(scene: Scene) -> None:
    scene.endpoint(scene.variant(hosting=scene.single_model())).monitor()
    names = {name for name, _, _ in _thresholds(scene)}
    assert not names & {"LoadedModelCount", "ModelCacheHit", "ModelLoadingWaitTime"}


def test_cpu_endpoints_have_no_alarms_of_gpus(scene: Scene) -> None:
    scene.endpoint(scene.variant("ml.m5.xlarge")).monitor()
    assert "GPUMemoryUtilization" not in {name for name, _, _ in _thresholds(scene)}


def test_thresholds_of_gpus_are_of_all_gpus_because_the_metric_is(scene: Scene) -> None:
    scene.endpoint(scene.variant("ml.g5.12xlarge", hosting=scene.single_model())).monitor()
    assert ("GPUMemoryUtilization", "warning", 360) in _thresholds(scene)


def test_low_is_bad_for_cache_hits(scene: Scene) -> None:
    scene.endpoint().monitor()
    below = {
        alarm["MetricName"]
        for alarm in _alarms(scene).values()
        if alarm["ComparisonOperator"] == "LessThanThreshold"
    }
    assert below == {"ModelCacheHit"}


def test_thresholds_are_severity_to_value_and_an_empty_one_is_no_alarm(scene: Scene) -> None:
    scene.endpoint().monitor(
        AlarmThresholds(
            server_error_rate={Severity.CRITICAL: 0.5},
            client_error_rate={},
            model_latency_p50_ms={Severity.WARNING: 20},
            model_latency_p99_ms={},
        )
    )
    thresholds = _thresholds(scene)
    assert ("Invocation5XXErrors", "critical", 0.5) in thresholds
    assert ("ModelLatency", "warning", 20_000) in thresholds
    assert "Invocation4XXErrors" not in {name for name, _, _ in thresholds}


def test_every_alarm_is_told_to_the_encrypted_topic(scene: Scene) -> None:
    scene.endpoint().monitor()
    (topic,) = scene.template().find_resources("AWS::SNS::Topic")
    assert "KmsMasterKeyId" in scene.properties("AWS::SNS::Topic")
    assert all(alarm["AlarmActions"] == [{"Ref": topic}] for alarm in _alarms(scene).values())


def test_alarms_are_told_to_the_topics_that_are_given_and_no_other_is_made(scene: Scene) -> None:
    arns = [f"arn:aws:sns:us-east-1:123456789012:{name}" for name in ("on-call", "chat")]
    topics = [sns.Topic.from_topic_arn(scene.stack, arn, arn) for arn in arns]
    scene.endpoint().monitor(topics=topics)
    scene.template().resource_count_is("AWS::SNS::Topic", 0)
    assert all(alarm["AlarmActions"] == arns for alarm in _alarms(scene).values())


def test_the_topic_is_told_by_the_alarms_of_its_account_alone(scene: Scene) -> None:
    # `enforce_ssl` alone would replace the policy in which SNS lets alarms publish.
    scene.endpoint().monitor()
    denied, allowed = scene.properties("AWS::SNS::TopicPolicy")["PolicyDocument"]["Statement"]
    assert denied["Effect"] == "Deny"
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert (allowed["Effect"], allowed["Action"]) == ("Allow", "sns:Publish")
    assert allowed["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    account = {"Ref": "AWS::AccountId"}
    assert allowed["Condition"]["StringEquals"] == {"aws:SourceAccount": account}
    arn = "".join(map(str, allowed["Condition"]["ArnLike"]["aws:SourceArn"]["Fn::Join"][1]))
    assert arn.endswith(f":cloudwatch:us-east-1:{account}:alarm:*")


def test_the_topic_s_key_is_used_by_alarms_and_goes_with_the_topic(scene: Scene) -> None:
    scene.endpoint().monitor()
    keys = scene.template().find_resources("AWS::KMS::Key")
    (key,) = (each for name, each in keys.items() if "Monitoring" in name)
    allowed = key["Properties"]["KeyPolicy"]["Statement"][-1]
    assert allowed["Action"] == ["kms:Decrypt", "kms:GenerateDataKey*"]
    assert allowed["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert set(allowed["Condition"]) == {"ArnLike", "StringEquals"}
    assert key["DeletionPolicy"] == "Delete"


def test_addresses_are_subscribed_to_a_topic(scene: Scene) -> None:
    AlarmTopic(scene.stack, "Alarms", emails=["team@example.com"])
    subscription = scene.properties("AWS::SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "team@example.com")


def test_thresholds_are_drawn_in_the_graph_of_their_metric(scene: Scene) -> None:
    scene.endpoint().monitor()
    graphs = _graphs(scene)
    errors = graphs["Errors (share of requests)"]
    assert {each["value"] for each in errors["annotations"]["horizontal"]} == {0.01, 0.05, 0.1, 0.2}
    drawn = [each for graph in graphs.values() for each in graph.get("annotations", {}).get(
        "horizontal", [])]  # fmt: skip
    assert len(drawn) == len(_alarms(scene))


def test_dashboard_shows_each_variant(scene: Scene) -> None:
    scene.endpoint(scene.variant(variant_name="A"), scene.variant(variant_name="B")).monitor()
    body = _dashboard(scene)
    titles = [each["properties"]["markdown"] for each in body if each["type"] == "text"]
    assert titles == ["# A", "# B"]


def _alarms(scene: Scene) -> dict[str, dict[str, Any]]:
    """The alarms of the monitoring, without those that roll updates back."""
    result = scene.template().find_resources(ALARM)
    return {name: each["Properties"] for name, each in result.items() if "Rollback" not in name}


def _metrics(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics of an alarm on an expression."""
    return [
        metric["MetricStat"]["Metric"]
        for metric in alarm.get("Metrics", ())
        if "MetricStat" in metric
    ]


def _thresholds(scene: Scene) -> list[tuple[str, str, float]]:
    return [
        (
            alarm.get("MetricName") or _metrics(alarm)[0]["MetricName"],
            alarm["AlarmDescription"].partition(":")[0],
            alarm["Threshold"],
        )
        for alarm in _alarms(scene).values()
    ]


def _graphs(scene: Scene) -> dict[str, dict[str, Any]]:
    return {
        each["properties"]["title"]: each["properties"]
        for each in _dashboard(scene)
        if each["type"] == "metric"
    }


def _dashboard(scene: Scene) -> list[dict[str, Any]]:
    body = scene.properties("AWS::CloudWatch::Dashboard")["DashboardBody"]
    parts = body["Fn::Join"][1] if isinstance(body, dict) else [body]
    text = "".join(part if isinstance(part, str) else "token" for part in parts)
    result: list[dict[str, Any]] = json.loads(text)["widgets"]
    return result
