"""Constraints of CloudWatch and Application Auto Scaling that involve several request fields."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.synth.api.calls import Calls

DAY = 86_400
MAX_WIDGETS, MAX_WIDGET_METRICS, MAX_METRICS = 500, 500, 2_500
"""CloudWatch user guide, cloudwatch_limits: widgets of a dashboard, metrics of a widget and of a
dashboard."""
MAX_SEARCH_CHARACTERS = 1024
"""CloudWatch user guide, search-expression-syntax: characters of a search query."""
GRID = 24
"""Columns of a dashboard (CloudWatch API reference, CloudWatch-Dashboard-Body-Structure)."""


def alarms(calls: Calls) -> Iterator[str]:
    """Yield invalid alarms on metrics and expressions.

    API reference, PutMetricAlarm:

    - Period: a multiple of 60 s; 10 to 30 s only for high-resolution metrics, unlike SageMaker's.
    - Period times EvaluationPeriods: at most one day.
    - "either Statistic or ExtendedStatistic but not both"; "We recommend omitting Unit".
    - Metrics: exactly one query returns data, and the members of a single metric are absent.
    - DatapointsToAlarm (M) is at most EvaluationPeriods (N).
    """
    for call in calls.by_operation("PutMetricAlarm"):
        alarm, where = call.parameters, call.resource_id
        metrics = [
            query["MetricStat"] for query in alarm.get("Metrics", ()) if "MetricStat" in query
        ]
        for metric in metrics or [alarm]:
            if metric["Period"] % 60:
                yield f"{where}: a period of {metric['Period']} s"
            if metric["Period"] * alarm["EvaluationPeriods"] > DAY:
                yield f"{where}: {alarm['EvaluationPeriods']} periods are more than a day"
            if "Unit" in metric:
                yield f"{where}: a metric without the unit {metric['Unit']} matches no data"
        if alarm.get("DatapointsToAlarm", 1) > alarm["EvaluationPeriods"]:
            yield f"{where}: DatapointsToAlarm is above EvaluationPeriods"
        statistics = alarm.keys() & {"ExtendedStatistic", "Statistic"}
        if len(statistics) != (0 if metrics else 1):
            yield f"{where}: needs either Statistic or ExtendedStatistic"
        if metrics and sum(query.get("ReturnData", True) for query in alarm["Metrics"]) != 1:
            yield f"{where}: not exactly one expression returns data"


def dashboards(calls: Calls) -> Iterator[str]:
    """Yield too large dashboards, widgets and searches."""
    for call in calls.by_operation("PutDashboard"):
        widgets = json.loads(call.parameters["DashboardBody"])["widgets"]
        lines = [widget["properties"].get("metrics", []) for widget in widgets]
        if len(widgets) > MAX_WIDGETS:
            yield f"{call.resource_id}: {len(widgets)} widgets"
        if max(map(len, lines)) > MAX_WIDGET_METRICS or sum(map(len, lines)) > MAX_METRICS:
            yield f"{call.resource_id}: {max(map(len, lines))} metrics in a widget"
        if any(widget["x"] + widget["width"] > GRID for widget in widgets):
            yield f"{call.resource_id}: a widget beyond the {GRID}th column"
        for expression in _expressions(lines):
            if expression.startswith("SEARCH(") and len(expression) > MAX_SEARCH_CHARACTERS:
                yield f"{call.resource_id}: a search of {len(expression)} characters"


def _expressions(lines: list[list[list[Any]]]) -> Iterator[str]:
    for line in (line for widget in lines for line in widget):
        yield from (
            metric["expression"]
            for metric in line
            if isinstance(metric, dict) and "expression" in metric
        )


def scaling(calls: Calls) -> Iterator[str]:
    """Yield targets that do not exist, invalid capacities, and duplicate metrics.

    ResourceId is `endpoint/NAME/variant/NAME` or `inference-component/NAME` (API reference,
    RegisterScalableTarget). Several target tracking policies of one target have different metrics
    (Application Auto Scaling user guide, target tracking; from memory: its text was not at hand).
    """
    configs = {
        call.parameters["EndpointConfigName"]: call
        for call in calls.by_operation("CreateEndpointConfig")
    }
    resource_ids = {
        f"endpoint/{call.parameters['EndpointName']}/variant/{variant['VariantName']}"
        for call in calls.by_operation("CreateEndpoint")
        for variant in configs[call.parameters["EndpointConfigName"]].parameters[
            "ProductionVariants"
        ]
    }
    resource_ids |= {
        f"inference-component/{call.parameters['InferenceComponentName']}"
        for call in calls.by_operation("CreateInferenceComponent")
    }
    for call in calls.by_operation("RegisterScalableTarget") + calls.by_operation(
        "PutScheduledAction"
    ):
        target = call.parameters
        capacity = target.get("ScalableTargetAction", target)
        if target["ResourceId"] not in resource_ids:
            yield f"{call.resource_id}: no resource {target['ResourceId']}"
        if capacity.get("MinCapacity", 0) > capacity.get("MaxCapacity", float("inf")):
            yield f"{call.resource_id}: MinCapacity {capacity['MinCapacity']} is above MaxCapacity"
    policies = [
        call
        for call in calls.by_operation("PutScalingPolicy")
        if call.parameters["PolicyType"] != "StepScaling"
    ]
    metrics = Counter(
        (policy.parameters["ResourceId"], _metric(policy.parameters)) for policy in policies
    )
    for (resource, metric), count in metrics.items():
        if count > 1:
            yield f"{resource} has {count} policies for {metric}"


def _metric(policy: dict[str, Any]) -> str:
    tracking = policy["TargetTrackingScalingPolicyConfiguration"]
    if "PredefinedMetricSpecification" in tracking:
        return str(tracking["PredefinedMetricSpecification"]["PredefinedMetricType"])
    customized = tracking["CustomizedMetricSpecification"]
    return str(customized.get("MetricName") or customized["Metrics"])


RULES = (alarms, dashboards, scaling)
