"""What CloudWatch and Application Auto Scaling demand of several fields together."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.synth.api.calls import Calls

DAY = 86_400
MOST_WIDGETS, MOST_OF_A_WIDGET, MOST_METRICS = 500, 500, 2_500
"""CloudWatch user guide, cloudwatch_limits: widgets of a dashboard, metrics of a widget and of a
dashboard."""
LONGEST_SEARCH = 1024
"""CloudWatch user guide, search-expression-syntax: characters of a search query."""
GRID = 24
"""Columns of a dashboard (CloudWatch API reference, CloudWatch-Dashboard-Body-Structure)."""


def alarms(calls: Calls) -> Iterator[str]:
    """Alarms of metrics, and of expressions over several.

    "Valid values are 10, 20, 30, and any multiple of 60", 10 to 30 only for metrics of high
    resolution, which SageMaker's are not; periods of less than an hour add up to one day at most;
    "either Statistic or ExtendedStatistic but not both"; "We recommend omitting Unit"; of Metrics,
    one is returned, and members of one metric are left out (API reference, PutMetricAlarm). Of
    EvaluationPeriods, DatapointsToAlarm are the "M out of N".
    """
    for call in calls.of("PutMetricAlarm"):
        each, where = call.parameters, call.made_for
        metrics = [
            query["MetricStat"] for query in each.get("Metrics", ()) if "MetricStat" in query
        ]
        for metric in metrics or [each]:
            if metric["Period"] % 60:
                yield f"{where}: a period of {metric['Period']} s"
            if metric["Period"] * each["EvaluationPeriods"] > DAY:
                yield f"{where}: {each['EvaluationPeriods']} periods are more than a day"
            if "Unit" in metric:
                yield f"{where}: a metric without the unit {metric['Unit']} is not seen"
        if each.get("DatapointsToAlarm", 1) > each["EvaluationPeriods"]:
            yield f"{where}: {each['DatapointsToAlarm']} of {each['EvaluationPeriods']} datapoints"
        statistics = each.keys() & {"ExtendedStatistic", "Statistic"}
        if len(statistics) != (0 if metrics else 1):
            yield f"{where}: not one of Statistic and ExtendedStatistic"
        if metrics and sum(query.get("ReturnData", True) for query in each["Metrics"]) != 1:
            yield f"{where}: not one expression is watched"


def dashboards(calls: Calls) -> Iterator[str]:
    """Sizes of dashboards, and the syntax of their searches."""
    for call in calls.of("PutDashboard"):
        widgets = json.loads(call.parameters["DashboardBody"])["widgets"]
        lines = [widget["properties"].get("metrics", []) for widget in widgets]
        if len(widgets) > MOST_WIDGETS:
            yield f"{call.made_for}: {len(widgets)} widgets"
        if max(map(len, lines)) > MOST_OF_A_WIDGET or sum(map(len, lines)) > MOST_METRICS:
            yield f"{call.made_for}: {max(map(len, lines))} metrics in a widget"
        if any(widget["x"] + widget["width"] > GRID for widget in widgets):
            yield f"{call.made_for}: a widget beyond the {GRID}th column"
        for expression in _expressions(lines):
            if expression.startswith("SEARCH(") and len(expression) > LONGEST_SEARCH:
                yield f"{call.made_for}: a search of {len(expression)} characters"


def _expressions(lines: list[list[list[Any]]]) -> Iterator[str]:
    for line in (each for widget in lines for each in widget):
        yield from (
            each["expression"] for each in line if isinstance(each, dict) and "expression" in each
        )


def scaling(calls: Calls) -> Iterator[str]:
    """Scalable targets are variants or components that exist, and scale by different metrics.

    ResourceId is `endpoint/NAME/variant/NAME` or `inference-component/NAME` (API reference,
    RegisterScalableTarget). Several target tracking policies of one target have different metrics
    (Application Auto Scaling user guide, target tracking; from memory: its text was not at hand).
    """
    configs = {
        each.parameters["EndpointConfigName"]: each for each in calls.of("CreateEndpointConfig")
    }
    there = {
        f"endpoint/{each.parameters['EndpointName']}/variant/{variant['VariantName']}"
        for each in calls.of("CreateEndpoint")
        for variant in configs[each.parameters["EndpointConfigName"]].parameters[
            "ProductionVariants"
        ]
    }
    there |= {
        f"inference-component/{call.parameters['InferenceComponentName']}"
        for call in calls.of("CreateInferenceComponent")
    }
    for call in calls.of("RegisterScalableTarget") + calls.of("PutScheduledAction"):
        each = call.parameters
        capacity = each.get("ScalableTargetAction", each)
        if each["ResourceId"] not in there:
            yield f"{call.made_for}: there is no {each['ResourceId']}"
        if capacity.get("MinCapacity", 0) > capacity.get("MaxCapacity", float("inf")):
            yield f"{call.made_for}: at least {capacity['MinCapacity']}, at most less"
    policies = [
        call
        for call in calls.of("PutScalingPolicy")
        if call.parameters["PolicyType"] != "StepScaling"
    ]
    metrics = Counter(
        (policy.parameters["ResourceId"], _metric(policy.parameters)) for policy in policies
    )
    for (resource, metric), count in metrics.items():
        if count > 1:
            yield f"{resource} is scaled by {metric} {count} times"


def _metric(policy: dict[str, Any]) -> str:
    tracking = policy["TargetTrackingScalingPolicyConfiguration"]
    if "PredefinedMetricSpecification" in tracking:
        return str(tracking["PredefinedMetricSpecification"]["PredefinedMetricType"])
    customized = tracking["CustomizedMetricSpecification"]
    return str(customized.get("MetricName") or customized["Metrics"])


RULES = (alarms, dashboards, scaling)
