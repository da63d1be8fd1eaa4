"""EndpointMetrics and EndpointMonitoring."""

import re
from pathlib import Path
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sns as sns

from tests.synth.endpoints import SampleStack

ALARM = "AWS::CloudWatch::Alarm"
RUNBOOK = Path(__file__).parents[2] / "docs" / "runbook.md"


def test_metric_has_variant_dimension_and_custom_options(sample: SampleStack) -> None:
    endpoint = sample.endpoint(sample.variant(variant_name="A"), sample.variant(variant_name="B"))
    latency = endpoint.find_instance_production_variant("B").metric("ModelLatency", "p99")
    assert (latency.period.to_seconds(), latency.unit) == (60, None)
    metric = latency.with_(statistic="p50", period=Duration.minutes(5), label="median")
    assert metric.dimensions == {"EndpointName": "under-test", "VariantName": "B"}
    assert metric.period.to_minutes() == 5
    assert (metric.statistic, metric.label) == ("p50", "median")


def test_runbook_explains_every_default_alarm(sample: SampleStack) -> None:
    children = sample.endpoint().monitor().node.children
    alarms = {
        child.node.id.split("-")[-2] for child in children if isinstance(child, cloudwatch.Alarm)
    }
    assert alarms
    page = RUNBOOK.read_text()
    headings = re.findall("^### (.*)$", page, re.M)
    rows = re.findall(r"^\| \[(.*?)\]", page, re.M)
    documented = set(", ".join(headings).split(", ")) & set(", ".join(rows).split(", "))
    assert not alarms - documented, (
        'docs/runbook.md, "Alarms": add a row to the table and a section with the meaning of the '
        "alarm and the steps to take"
    )


def test_gpu_thresholds_are_multiplied_by_gpu_count(sample: SampleStack) -> None:
    sample.endpoint(sample.variant("ml.g5.12xlarge", hosting=sample.single_model())).monitor()
    assert ("GPUMemoryUtilization", "warning", 360) in _thresholds(sample)


def test_alarms_notify_the_encrypted_topic(sample: SampleStack) -> None:
    sample.endpoint().monitor()
    (topic,) = sample.template().find_resources("AWS::SNS::Topic")
    assert "KmsMasterKeyId" in sample.properties("AWS::SNS::Topic")
    assert all(alarm["AlarmActions"] == [{"Ref": topic}] for alarm in _alarms(sample).values())


def test_alarms_notify_existing_topics(sample: SampleStack) -> None:
    arns = [f"arn:aws:sns:us-east-1:123456789012:{name}" for name in ("on-call", "chat")]
    topics = [sns.Topic.from_topic_arn(sample.stack, arn, arn) for arn in arns]
    sample.endpoint().monitor(topics=topics)
    sample.template().resource_count_is("AWS::SNS::Topic", 0)
    assert all(alarm["AlarmActions"] == arns for alarm in _alarms(sample).values())


def _alarms(sample: SampleStack) -> dict[str, dict[str, Any]]:
    """Return the monitoring alarms, without the rollback alarms."""
    result = sample.template().find_resources(ALARM)
    return {
        name: resource["Properties"] for name, resource in result.items() if "Rollback" not in name
    }


def _metrics(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the metrics of an alarm on an expression."""
    return [
        metric["MetricStat"]["Metric"]
        for metric in alarm.get("Metrics", ())
        if "MetricStat" in metric
    ]


def _thresholds(sample: SampleStack) -> list[tuple[str, str, float]]:
    return [
        (
            alarm.get("MetricName") or _metrics(alarm)[0]["MetricName"],
            alarm["AlarmDescription"].partition(":")[0],
            alarm["Threshold"],
        )
        for alarm in _alarms(sample).values()
    ]
