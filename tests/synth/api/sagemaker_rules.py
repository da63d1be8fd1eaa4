"""Constraints of SageMaker that involve several request fields, with their sources."""

from collections.abc import Iterator
from typing import Any

from platform_facts import inference_amis, instance_type
from tests.synth.api.calls import Call, Calls


def model_data(calls: Calls) -> Iterator[str]:
    """Yield invalid model data.

    One model is "a single gzip compressed tar archive (.tar.gz suffix)" (API reference,
    ContainerDefinition); many are "the prefix in Amazon S3 where the model artifacts are located"
    (developer guide, create-multi-model-endpoint), whose settings are MultiModelConfig's.
    """
    for call in calls.by_operation("CreateModel"):
        container = call.parameters["PrimaryContainer"]
        multi_model, url = container.get("Mode") == "MultiModel", container["ModelDataUrl"]
        if multi_model and not url.endswith("/"):
            yield f"{call.resource_id}: {url} is not a prefix"
        if not multi_model and not url.endswith(".tar.gz"):
            yield f"{call.resource_id}: {url} is not a .tar.gz"
        if not multi_model and "MultiModelConfig" in container:
            yield f"{call.resource_id}: MultiModelConfig without Mode MultiModel"


def subnets(calls: Calls) -> Iterator[str]:
    """Yield networks without subnets in two zones.

    "You must create at least two subnets in different availability zones in your private VPC, even
    if you have only one hosting instance" (developer guide, host-vpc).
    """
    zones = [call.parameters["AvailabilityZone"] for call in calls.by_operation("CreateSubnet")]
    for call in [*calls.by_operation("CreateModel"), *calls.by_operation("CreateEndpointConfig")]:
        if "VpcConfig" not in call.parameters:
            continue
        if len(call.parameters["VpcConfig"]["Subnets"]) < 2:
            yield f"{call.resource_id}: one subnet"
        if len(set(zones)) < len(zones):
            yield f"{call.resource_id}: subnets in one availability zone"


def variants(calls: Calls) -> Iterator[str]:
    """Yield invalid variants.

    Multi-model hosting takes CPU types and types with one GPU (developer guide,
    multi-model-support). An AMI of GPUs is for "an accelerator: GPU" (API reference,
    ProductionVariant). Types with NVMe storage take no VolumeSizeInGB (platform_facts/
    instances.toml), and documents differ on their KmsKeyId. Models are named, and no name twice.
    InstancePools replace InstanceType, with priorities from 1 to 5, for single-model endpoints
    (developer guide, realtime-endpoints-heterogeneous; API reference, InstancePool).
    """
    models = {call.parameters["ModelName"]: call for call in calls.by_operation("CreateModel")}
    gpu_amis = {ami.name for ami in inference_amis()}
    for call in calls.by_operation("CreateEndpointConfig"):
        values = call.parameters["ProductionVariants"]
        names = [value["VariantName"] for value in values]
        if len(set(names)) < len(names):
            yield f"{call.resource_id}: duplicate variant name"
        for variant in values:
            where = f"{call.resource_id}: {variant['VariantName']}"
            priorities = [pool["Priority"] for pool in variant.get("InstancePools", ())]
            if priorities != list(range(1, len(priorities) + 1)) or len(priorities) > 5:
                yield f"{where}: priorities {priorities}"
            if ("InstanceType" in variant) == bool(priorities):
                yield f"{where}: needs either InstanceType or InstancePools"
            if ("ModelName" in variant) == ("ManagedInstanceScaling" in variant):
                yield f"{where}: ManagedInstanceScaling is only for inference components"
            if "ModelName" not in variant and "ExecutionRoleArn" not in call.parameters:
                yield f"{where}: inference components without ExecutionRoleArn"
        with_models = [variant for variant in values if "ModelName" in variant]
        pools = [
            (variant, pool)
            for variant in with_models
            for pool in variant.get("InstancePools", [variant])
        ]
        for variant, pool in pools:
            kind = instance_type(pool["InstanceType"])
            where = f"{call.resource_id}: {variant['VariantName']}"
            model = pool.get("ModelNameOverride", variant["ModelName"])
            if model not in models:
                yield f"{where} serves {model}, which does not exist"
            elif _serves_many(models[model]) and "InstancePools" in variant:
                yield f"{where}: instance pools of a multi-model endpoint"
            elif _serves_many(models[model]) and kind.gpu_count > 1:
                yield f"{where}: {kind.name} has {kind.gpu_count} GPUs, for a multi-model endpoint"
            if kind.gpu is None and variant.get("InferenceAmiVersion") in gpu_amis:
                yield f"{where}: an AMI for GPUs on {kind.name}"
            if kind.local_nvme and "VolumeSizeInGB" in variant:
                yield f"{where}: VolumeSizeInGB with the NVMe storage of {kind.name}"
            if kind.local_nvme and "KmsKeyId" in call.parameters:
                yield f"{where}: KmsKeyId with the NVMe storage of {kind.name}"


def _serves_many(model: Call) -> bool:
    return bool(model.parameters["PrimaryContainer"].get("Mode") == "MultiModel")


def updates(calls: Calls) -> Iterator[str]:
    """Yield invalid deployment policies.

    One policy; "the timeout value should be larger than the total waiting time specified in
    TerminationWaitInSeconds and WaitIntervalInSeconds"; a canary is at most 50 % of the capacity, a
    linear step 10-50 %, a batch 5-50 % (API reference, BlueGreenUpdatePolicy,
    TrafficRoutingConfig, RollingUpdatePolicy). Sizes belong to their type of routing (developer
    guide, deployment-guardrails-blue-green-canary and -linear).
    """
    configs = {
        call.parameters["EndpointConfigName"]: call
        for call in calls.by_operation("CreateEndpointConfig")
    }
    for call in calls.by_operation("UpdateEndpoint"):
        deployment = call.parameters.get("DeploymentConfig", {})
        config = configs[call.parameters["EndpointConfigName"]]
        if all(
            "ModelName" not in production_variant
            for production_variant in config.parameters["ProductionVariants"]
        ):
            if deployment:
                yield f"{call.resource_id}: endpoints of components have no DeploymentConfig"
            continue
        blue_green, rolling = (
            deployment.get(f"{kind}UpdatePolicy") for kind in ("BlueGreen", "Rolling")
        )
        if bool(blue_green) == bool(rolling):
            yield f"{call.resource_id}: needs either BlueGreenUpdatePolicy or RollingUpdatePolicy"
        if blue_green:
            yield from (f"{call.resource_id}: {problem}" for problem in _blue_green(blue_green))
        if rolling:
            several = len(config.parameters["ProductionVariants"]) > 1
            yield from (
                f"{call.resource_id}: {problem}" for problem in _rolling(rolling, several=several)
            )


def components(calls: Calls) -> Iterator[str]:
    """Yield invalid inference components.

    The endpoint hosts them, and the variant is its (pulumi/pulumi-aws#4940). One copy is the least
    at creation: "an integer larger than 0" (stdapi-ai/stdapi.ai#43). Models are named, and serve
    one archive. Batches are 5 to 50 % of the copies (API reference,
    InferenceComponentRollingUpdatePolicy).
    """
    models = {call.parameters["ModelName"]: call for call in calls.by_operation("CreateModel")}
    configs = {
        call.parameters["EndpointConfigName"]: call
        for call in calls.by_operation("CreateEndpointConfig")
    }
    endpoints = {
        call.parameters["EndpointName"]: call for call in calls.by_operation("CreateEndpoint")
    }
    for call in calls.by_operation("CreateInferenceComponent"):
        endpoint = endpoints[call.parameters["EndpointName"]]
        config = configs[endpoint.parameters["EndpointConfigName"]]
        hosts = {
            production_variant["VariantName"]: production_variant
            for production_variant in config.parameters["ProductionVariants"]
        }
        if "ModelName" in hosts.get(call.parameters["VariantName"], {"ModelName": ""}):
            yield f"{call.resource_id}: the variant does not host components"
        if call.parameters["RuntimeConfig"]["CopyCount"] < 1:
            yield f"{call.resource_id}: CopyCount 0 at creation"
        model = models.get(call.parameters["Specification"]["ModelName"])
        if model is None or _serves_many(model):
            yield f"{call.resource_id}: does not serve a single model"
    for call in calls.by_operation("UpdateInferenceComponent"):
        policy = call.parameters["DeploymentConfig"]["RollingUpdatePolicy"]
        yield from (
            f"{call.resource_id}: {problem}" for problem in _share(policy["MaximumBatchSize"], 5)
        )


SIZES = {"CANARY": ("CanarySize", 1), "LINEAR": ("LinearStepSize", 10)}


def _blue_green(policy: dict[str, Any]) -> Iterator[str]:
    routing = policy["TrafficRoutingConfiguration"]
    size, minimum = SIZES.get(routing["Type"], (None, 0))
    for name in ("CanarySize", "LinearStepSize"):
        if (name in routing) != (name == size):
            yield f"{routing['Type']} {'with' if name in routing else 'without'} {name}"
    if size in routing:
        yield from _share(routing[size], minimum)
    step = routing.get("LinearStepSize", {}).get("Value", 50 if "CanarySize" in routing else 100)
    waits = (-(-100 // step) - 1) * routing["WaitIntervalInSeconds"] + policy[
        "TerminationWaitInSeconds"
    ]
    if waits >= policy["MaximumExecutionTimeoutInSeconds"]:
        yield f"waits of {waits} s in {policy['MaximumExecutionTimeoutInSeconds']} s"


def _rolling(policy: dict[str, Any], *, several: bool) -> Iterator[str]:
    """Rolling deployments exclude endpoints with several variants (deployment-guardrails-
    exclusions)."""
    yield from _share(policy["MaximumBatchSize"], 5)
    if several:
        yield "a rolling update of several variants"


def _share(size: dict[str, Any], minimum: int) -> Iterator[str]:
    if size["Type"] == "CAPACITY_PERCENT" and not minimum <= size["Value"] <= 50:
        yield f"{size['Value']} % is not {minimum} to 50 %"


RULES = (model_data, subnets, variants, updates, components)
