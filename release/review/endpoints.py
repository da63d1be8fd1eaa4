"""What a stack's template declares of its endpoint."""

import json
from dataclasses import dataclass, field
from typing import Any

from release import parameters
from release.tree import Template

UNNAMED = "an endpoint without a name"
"""CloudFormation would make one up, which no client knows."""


@dataclass(frozen=True, kw_only=True)
class DeclaredVariant:
    """A production variant: `initial` instances are those that it is created with, `minimum` and
    `maximum` scaling's.

    Schedules that change the limits count among them; `limits` are those without. `targets` are the
    scaling policies: metric -> target value, `cooldowns` metric -> seconds out and in, `schedules`
    name -> when and which limits. `target` is what a multi-model variant's archives are built for,
    None for a single model, `caches` whether its models stay in memory. `environment` is the
    container's.
    """

    name: str
    instance_type: str
    weight: float
    mode: str
    initial: int
    minimum: int
    maximum: int
    targets: dict[str, float]
    scaled: bool
    target: str | None
    cooldowns: dict[str, str] = field(default_factory=dict)
    schedules: dict[str, str] = field(default_factory=dict)
    limits: str = ""
    caches: bool = True
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class DeclaredModel:
    """A model's catalog entry, and the builds that provide its archive: target -> digest."""

    name: str
    version: str
    signature: dict[str, Any]
    builds: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class DeclaredEndpoint:
    """An endpoint with what surrounds it in its stack.

    `update` says how it is updated, `rollback_alarms` how many alarms roll an update back, `alarms`
    names all alarms by their construct path. `capture` is what is recorded of requests.
    """

    name: str
    release: str
    update: str
    rollback_alarms: int
    alarms: tuple[str, ...]
    capture: str = "nothing"
    variants: dict[str, DeclaredVariant] = field(default_factory=dict)
    models: dict[str, DeclaredModel] = field(default_factory=dict)


def endpoint_of(template: Template) -> DeclaredEndpoint | None:
    """Read a stack's endpoint, None where it has none."""
    resources = template.get("Resources", {})
    endpoint = next(_of_type(resources, "AWS::SageMaker::Endpoint"), None)
    config = next(_of_type(resources, "AWS::SageMaker::EndpointConfig"), None)
    if endpoint is None or config is None:
        return None
    name = endpoint.get("EndpointName", UNNAMED)
    variants = {
        it["VariantName"]: _variant(it, resources, name) for it in config["ProductionVariants"]
    }
    deployment = endpoint.get("DeploymentConfig", {})
    return DeclaredEndpoint(
        name=name,
        release=_release(resources),
        update=_update(deployment),
        rollback_alarms=len(deployment.get("AutoRollbackConfiguration", {}).get("Alarms", ())),
        alarms=tuple(sorted(_alarms(resources))),
        capture=_capture(config.get("DataCaptureConfig", {})),
        variants=variants,
        models=_models(resources),
    )


def _of_type(resources: dict[str, Any], resource_type: str) -> Any:
    return (it["Properties"] for it in resources.values() if it["Type"] == resource_type)


def _variant(variant: dict[str, Any], resources: dict[str, Any], endpoint: str) -> DeclaredVariant:
    resource_id = f"endpoint/{endpoint}/variant/{variant['VariantName']}"
    initial = minimum = maximum = variant.get("InitialInstanceCount", 1)
    targets, cooldowns, schedules, own, scaled = {}, {}, {}, "", False
    for logical_id, resource in resources.items():
        properties = resource.get("Properties", {})
        if resource["Type"] != "AWS::ApplicationAutoScaling::ScalableTarget":
            continue
        if properties["ResourceId"] == resource_id:
            actions = properties.get("ScheduledActions", [])
            limits = [properties, *(it.get("ScalableTargetAction", {}) for it in actions)]
            minimum = min(it["MinCapacity"] for it in limits if "MinCapacity" in it)
            maximum = max(it["MaxCapacity"] for it in limits if "MaxCapacity" in it)
            own = f"{properties['MinCapacity']}-{properties['MaxCapacity']}"
            targets, scaled = _targets(resources, logical_id), True
            cooldowns = _cooldowns(resources, logical_id)
            schedules = {it["ScheduledActionName"]: _schedule(it) for it in actions}
    model = _container(variant.get("ModelName"), resources)
    return DeclaredVariant(
        name=variant["VariantName"],
        instance_type=variant.get("InstanceType", "no instances"),
        weight=variant.get("InitialVariantWeight", 1),
        mode=model.get("Mode", "SingleModel"),
        initial=initial,
        minimum=minimum,
        maximum=maximum,
        targets=targets,
        scaled=scaled,
        target=_target(model),
        cooldowns=cooldowns,
        schedules=schedules,
        limits=own,
        caches=model.get("MultiModelConfig", {}).get("ModelCacheSetting") != "Disabled",
        environment=model.get("Environment", {}),
    )


def _container(model: Any, resources: dict[str, Any]) -> dict[str, Any]:
    """Return the container of a variant's model, nothing of one that is not in the template."""
    match model:
        case {"Fn::GetAtt": [str(name), *_]} if name in resources:
            container: dict[str, Any] = resources[name]["Properties"].get("PrimaryContainer", {})
            return container
    return {}


def _target(container: dict[str, Any]) -> str | None:
    """Return the last folder of a multi-model container's prefix."""
    match container.get("ModelDataUrl"):
        case {"Fn::Join": [_, [*_, str(prefix)]]} if container.get("Mode") == "MultiModel":
            return prefix.rstrip("/").rpartition("/")[2]
    return None


def _targets(resources: dict[str, Any], scalable_target: str) -> dict[str, float]:
    return {
        metric: it["TargetValue"] for metric, it in _policies(resources, scalable_target).items()
    }


def _cooldowns(resources: dict[str, Any], scalable_target: str) -> dict[str, str]:
    return {
        metric: f"{it.get('ScaleOutCooldown')} s out, {it.get('ScaleInCooldown')} s in"
        for metric, it in _policies(resources, scalable_target).items()
    }


def _policies(resources: dict[str, Any], scalable_target: str) -> dict[str, Any]:
    """Return the settings of a target's policies, by what each measures."""
    found = {}
    for policy in _of_type(resources, "AWS::ApplicationAutoScaling::ScalingPolicy"):
        settings = policy.get("TargetTrackingScalingPolicyConfiguration")
        if settings and policy.get("ScalingTargetId") == {"Ref": scalable_target}:
            predefined = settings.get("PredefinedMetricSpecification", {})
            custom = settings.get("CustomizedMetricSpecification", {})
            metric = predefined.get("PredefinedMetricType") or custom.get("MetricName", "?")
            found[metric.removeprefix("SageMakerVariant")] = settings
    return found


def _schedule(action: dict[str, Any]) -> str:
    limits = action.get("ScalableTargetAction", {})
    zone = action.get("Timezone", "UTC")
    least, most = (limits.get(it, "as before") for it in ("MinCapacity", "MaxCapacity"))
    return f"{action['Schedule']} {zone}, {least}-{most} instances"


def _capture(config: dict[str, Any]) -> str:
    if not config.get("EnableCapture"):
        return "nothing"
    sides = {
        "Input": "requests",
        "Output": "responses",
        "InputAndOutput": "requests and responses",
    }
    recorded = (sides[it["CaptureMode"]] for it in config["CaptureOptions"])
    return f"{config['InitialSamplingPercentage']} % of {' and '.join(recorded)}"


def _release(resources: dict[str, Any]) -> str:
    for model in _of_type(resources, "AWS::SageMaker::Model"):
        image = model.get("PrimaryContainer", {}).get("Image")
        if isinstance(image, str):
            return image.rpartition(":")[2].partition("-")[0]
    return "?"


def _update(deployment: dict[str, Any]) -> str:
    if rolling := deployment.get("RollingUpdatePolicy"):
        size = rolling["MaximumBatchSize"]
        return f"rolling {_amount(size)} at a time"
    routing = deployment.get("BlueGreenUpdatePolicy", {}).get("TrafficRoutingConfiguration", {})
    minutes = routing.get("WaitIntervalInSeconds", 0) / 60
    match routing.get("Type"):
        case "CANARY":
            return f"canary {_amount(routing.get('CanarySize'))} for {minutes:g} min"
        case "LINEAR":
            return f"linear {_amount(routing.get('LinearStepSize'))} every {minutes:g} min"
    return "all at once"


def _amount(size: dict[str, Any] | None) -> str:
    if size is None:
        return "?"
    unit = "%" if size["Type"] == "CAPACITY_PERCENT" else "instances"
    return f"{size['Value']} {unit}"


def _alarms(resources: dict[str, Any]) -> list[str]:
    return [
        resource.get("Metadata", {})
        .get("aws:cdk:path", logical_id)
        .partition("/")[2]
        .removesuffix("/Resource")
        for logical_id, resource in resources.items()
        if resource["Type"] in ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")
    ]


def _models(resources: dict[str, Any]) -> dict[str, DeclaredModel]:
    builds: dict[str, dict[str, str]] = {}
    for build in _of_type(resources, "Custom::TritonModel"):
        builds.setdefault(build["Model"], {})[build["Target"]] = build["Digest"]
    found = {}
    for parameter in _of_type(resources, "AWS::SSM::Parameter"):
        if parameter.get("Name", "").startswith(parameters.ROOT):
            entry = json.loads(parameter["Value"])
            found[entry["model"]] = DeclaredModel(
                name=entry["model"],
                version=entry["version"],
                signature=entry["signature"],
                builds=builds.get(entry["model"], {}),
            )
    return found
