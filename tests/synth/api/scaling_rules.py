"""Constraints of Application Auto Scaling that involve several requests."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.synth.api.calls import Calls


def scaling(calls: Calls) -> Iterator[str]:
    """Yield targets that do not exist, invalid capacities, and duplicate metrics.

    ResourceId is `endpoint/NAME/variant/NAME` or `inference-component/NAME` (API reference,
    RegisterScalableTarget). Several target tracking policies of one target have different metrics
    (Application Auto Scaling user guide, target tracking; from memory).
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
