"""What SageMaker demands of several fields together, each rule with where it is written."""

from collections.abc import Iterator
from typing import Any

from platform_facts import inference_amis, instance_type
from tests.synth.api.calls import Call, Calls


def model_data(calls: Calls) -> Iterator[str]:
    """What is served.

    One model is "a single gzip compressed tar archive (.tar.gz suffix)" (API reference,
    ContainerDefinition); many are "the prefix in Amazon S3 where the model artifacts are located"
    (developer guide, create-multi-model-endpoint), whose settings are MultiModelConfig's.
    """
    for call in calls.of("CreateModel"):
        container = call.parameters["PrimaryContainer"]
        many, url = container.get("Mode") == "MultiModel", container["ModelDataUrl"]
        if many and not url.endswith("/"):
            yield f"{call.made_for}: {url} is no prefix"
        if not many and not url.endswith(".tar.gz"):
            yield f"{call.made_for}: {url} is no .tar.gz"
        if not many and "MultiModelConfig" in container:
            yield f"{call.made_for}: MultiModelConfig without Mode MultiModel"


def subnets(calls: Calls) -> Iterator[str]:
    """Networks of instances.

    "You must create at least two subnets in different availability zones in your private VPC, even
    if you have only one hosting instance" (developer guide, host-vpc).
    """
    zones = [each.parameters["AvailabilityZone"] for each in calls.of("CreateSubnet")]
    for call in [*calls.of("CreateModel"), *calls.of("CreateEndpointConfig")]:
        if "VpcConfig" not in call.parameters:
            continue
        if len(call.parameters["VpcConfig"]["Subnets"]) < 2:
            yield f"{call.made_for}: one subnet"
        if len(set(zones)) < len(zones):
            yield f"{call.made_for}: subnets in one availability zone"


def variants(calls: Calls) -> Iterator[str]:
    """Variants of a configuration.

    Multi-model hosting takes CPU types and types with one GPU (developer guide,
    multi-model-support). An AMI of GPUs is for "an accelerator: GPU" (API reference,
    ProductionVariant). Types with NVMe storage take no VolumeSizeInGB (platform_facts/
    instances.toml), and documents differ on their KmsKeyId. Models are named, and no name twice.
    InstancePools replace InstanceType, with priorities from 1 to 5, for single-model endpoints
    (developer guide, realtime-endpoints-heterogeneous; API reference, InstancePool).
    """
    models = {each.parameters["ModelName"]: each for each in calls.of("CreateModel")}
    gpu_amis = {ami.name for ami in inference_amis()}
    for call in calls.of("CreateEndpointConfig"):
        values = call.parameters["ProductionVariants"]
        names = [each["VariantName"] for each in values]
        if len(set(names)) < len(names):
            yield f"{call.made_for}: a variant's name is given twice"
        for variant in values:
            where = f"{call.made_for}: {variant['VariantName']}"
            priorities = [pool["Priority"] for pool in variant.get("InstancePools", ())]
            if priorities != list(range(1, len(priorities) + 1)) or len(priorities) > 5:
                yield f"{where}: priorities {priorities}"
            if ("InstanceType" in variant) == bool(priorities):
                yield f"{where}: InstanceType beside InstancePools"
            if ("ModelName" in variant) == ("ManagedInstanceScaling" in variant):
                yield f"{where}: ManagedInstanceScaling is of inference components"
            if "ModelName" not in variant and "ExecutionRoleArn" not in call.parameters:
                yield f"{where}: inference components without ExecutionRoleArn"
        with_models = [variant for variant in values if "ModelName" in variant]
        pools = [
            (variant, pool)
            for variant in with_models
            for pool in variant.get("InstancePools", [variant])
        ]
        for each, pool in pools:
            kind = instance_type(pool["InstanceType"])
            where = f"{call.made_for}: {each['VariantName']}"
            model = pool.get("ModelNameOverride", each["ModelName"])
            if model not in models:
                yield f"{where} serves {model}, which nobody makes"
            elif _serves_many(models[model]) and "InstancePools" in each:
                yield f"{where}: instance pools of a multi-model endpoint"
            elif _serves_many(models[model]) and kind.gpu_count > 1:
                yield f"{where}: {kind.name} has {kind.gpu_count} GPUs, for a multi-model endpoint"
            if kind.gpu is None and each.get("InferenceAmiVersion") in gpu_amis:
                yield f"{where}: an AMI for GPUs on {kind.name}"
            if kind.local_nvme and "VolumeSizeInGB" in each:
                yield f"{where}: VolumeSizeInGB with the NVMe storage of {kind.name}"
            if kind.local_nvme and "KmsKeyId" in call.parameters:
                yield f"{where}: KmsKeyId with the NVMe storage of {kind.name}"


def _serves_many(model: Call) -> bool:
    return bool(model.parameters["PrimaryContainer"].get("Mode") == "MultiModel")


def updates(calls: Calls) -> Iterator[str]:
    """Deployment policies.

    One policy; "the timeout value should be larger than the total waiting time specified in
    TerminationWaitInSeconds and WaitIntervalInSeconds"; a canary is at most 50 % of the capacity, a
    linear step 10-50 %, a batch 5-50 % (API reference, BlueGreenUpdatePolicy,
    TrafficRoutingConfig, RollingUpdatePolicy). Sizes belong to their type of routing (developer
    guide, deployment-guardrails-blue-green-canary and -linear).
    """
    configs = {
        item.parameters["EndpointConfigName"]: item for item in calls.of("CreateEndpointConfig")
    }
    for call in calls.of("UpdateEndpoint"):
        deployment = call.parameters.get("DeploymentConfig", {})
        config = configs[call.parameters["EndpointConfigName"]]
        if all("ModelName" not in each for each in config.parameters["ProductionVariants"]):
            if deployment:
                yield f"{call.made_for}: a DeploymentConfig of an endpoint of components"
            continue
        blue_green, rolling = (
            deployment.get(f"{item}UpdatePolicy") for item in ("BlueGreen", "Rolling")
        )
        if bool(blue_green) == bool(rolling):
            yield f"{call.made_for}: not one policy"
        if blue_green:
            yield from (f"{call.made_for}: {item}" for item in _blue_green(blue_green))
        if rolling:
            several = len(config.parameters["ProductionVariants"]) > 1
            yield from (f"{call.made_for}: {item}" for item in _rolling(rolling, several=several))


def components(calls: Calls) -> Iterator[str]:
    """Inference components.

    The endpoint hosts them, and the variant is its (pulumi/pulumi-aws#4940). One copy is the least
    at creation: "an integer larger than 0" (stdapi-ai/stdapi.ai#43). Models are named, and serve
    one archive. Batches are 5 to 50 % of the copies (API reference,
    InferenceComponentRollingUpdatePolicy).
    """
    models = {each.parameters["ModelName"]: each for each in calls.of("CreateModel")}
    configs = {
        each.parameters["EndpointConfigName"]: each for each in calls.of("CreateEndpointConfig")
    }
    endpoints = {each.parameters["EndpointName"]: each for each in calls.of("CreateEndpoint")}
    for call in calls.of("CreateInferenceComponent"):
        endpoint = endpoints[call.parameters["EndpointName"]]
        config = configs[endpoint.parameters["EndpointConfigName"]]
        hosts = {each["VariantName"]: each for each in config.parameters["ProductionVariants"]}
        if "ModelName" in hosts.get(call.parameters["VariantName"], {"ModelName": ""}):
            yield f"{call.made_for}: not a variant that hosts components"
        if call.parameters["RuntimeConfig"]["CopyCount"] < 1:
            yield f"{call.made_for}: created without a copy"
        model = models.get(call.parameters["Specification"]["ModelName"])
        if model is None or _serves_many(model):
            yield f"{call.made_for}: serves no single model"
    for call in calls.of("UpdateInferenceComponent"):
        policy = call.parameters["DeploymentConfig"]["RollingUpdatePolicy"]
        yield from (f"{call.made_for}: {each}" for each in _share(policy["MaximumBatchSize"], 5))


SIZES = {"CANARY": ("CanarySize", 1), "LINEAR": ("LinearStepSize", 10)}


def _blue_green(policy: dict[str, Any]) -> Iterator[str]:
    routing = policy["TrafficRoutingConfiguration"]
    size, least = SIZES.get(routing["Type"], (None, 0))
    for name in ("CanarySize", "LinearStepSize"):
        if (name in routing) != (name == size):
            yield f"{routing['Type']} {'with' if name in routing else 'without'} {name}"
    if size in routing:
        yield from _share(routing[size], least)
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


def _share(size: dict[str, Any], least: int) -> Iterator[str]:
    if size["Type"] == "CAPACITY_PERCENT" and not least <= size["Value"] <= 50:
        yield f"{size['Value']} % is not {least} to 50 %"


RULES = (model_data, subnets, variants, updates, components)
