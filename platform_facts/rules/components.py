"""Rules about inference components: model copies that reserve CPU, GPU and memory of an instance.

Sources: API reference, CreateInferenceComponent and ProductionVariant; public reports of users. Not
tested on AWS.
"""

from collections.abc import Collection

from platform_facts import InstanceType, Region
from platform_facts.rules.ranges import API, Range
from platform_facts.rules.rule import rule

REJECTED_MIB = {"ml.g5.xlarge": 4096}
"""Reservation per copy that AWS rejected, in MiB; it accepted 1024 (huggingface/skills,
hf-cloud-sagemaker-production-defaults). The reservable memory of an instance is not documented."""
REQUIREMENTS = f"{API}InferenceComponentComputeResourceRequirements.html"

COPIES_MIN = Range(
    "components.copies.min",
    "developer guide, endpoint-auto-scaling-zero-instances: only components scale to zero",
    minimum=0,
)
COPIES_MAX = Range("components.copies.max", "our choice: with 0, no request is served", minimum=1)
COPY_RPS, COPY_CONCURRENCY = (
    Range(
        f"components.copies.{name}",
        "our choice: a target of 0 cannot be reached",
        exclusive_minimum=0,
    )
    for name in ("max_rps", "concurrency")
)
INSTANCES_MIN, INSTANCES_MAX = (
    Range(
        f"instances.{name}", f"{API}ProductionVariantManagedInstanceScaling.html", minimum=minimum
    )
    for name, minimum in (("min", 0), ("max", 1))
)
MEMORY = Range("components.memory_mb", f"{REQUIREMENTS}, MinMemoryRequiredInMb", minimum=128)
CPUS = Range("components.cpus", f"{REQUIREMENTS}, NumberOfCpuCoresRequired", minimum=0.25)
ACCELERATORS = Range(
    "components.accelerators",
    f"{REQUIREMENTS}, NumberOfAcceleratorDevicesRequired: whole GPUs",
    minimum=1,
)


@rule("components", "our choice: one inference component per model of the endpoint")
def check_component_per_model(components: Collection[str], models: Collection[str]) -> str | None:
    """With `hosting: components`, `components` has one entry for each model of the endpoint."""
    if set(components) == set(models):
        return None
    return f"names {', '.join(components) or 'none'}: write one for each of {', '.join(models)}"


@rule("instances", f"{API}ProductionVariant.html, ManagedInstanceScaling")
def check_instances_key(instances: object) -> str | None:
    """With `hosting: components`, `instances` is required."""
    return None if instances else "missing: write instances: { min: 0, max: 2 }, for example"


@rule(
    "hosting",
    '"ManagedInstanceScaling is only supported for inference component endpoints." '
    "(hashicorp/terraform-provider-aws#45926)",
)
def check_component_keys(keys: Collection[str]) -> str | None:
    """`components` and `instances` require `hosting: components`."""
    if not keys:
        return None
    return f"{', '.join(keys)} only with hosting: components: remove it, or write that"


@rule("hosting", "AWS does not document whether CloudFormation resets CopyCount in a stack update")
def check_components_confirmed(unconfirmed: Collection[str]) -> str | None:
    """A stage with `hosting: components` requires `unconfirmed: [components]`."""
    if "components" in unconfirmed:
        return None
    return (
        "a stack update may reset the number of copies to the initial one (not documented by AWS): "
        "write unconfirmed: [components] for the stage, or another hosting"
    )


@rule(
    "instances.min",
    '"Min instance count needs to be greater than 0 for enabled managed instance scaling" '
    "(stdapi-ai/stdapi.ai#43); platform_facts/regions.toml, managed_instances",
)
def check_zero_instances(minimum: int, region: Region) -> str | None:
    """0 is allowed only in a region where SageMaker accepts it."""
    if minimum or region.zero_instances:
        return None
    return (
        f"SageMaker rejects 0 in {region.name}: write 1, with which copies still scale to zero, "
        "or another region"
    )


@rule("instances.max", f"{API}ProductionVariantManagedInstanceScaling.html")
def check_instance_limits(minimum: int, maximum: int) -> str | None:
    """`max` is not less than `min`."""
    return _check_order(minimum, maximum)


@rule("components.copies.max", "RegisterScalableTarget's API reference, MaxCapacity")
def check_copy_limits(minimum: int, maximum: int) -> str | None:
    """`copies.max` is not less than `copies.min`."""
    return _check_order(minimum, maximum)


@rule("components.copies", "our choice: copies without a scaling target would never scale")
def check_copy_scaling_target(
    minimum: int, maximum: int, targets: Collection[object]
) -> str | None:
    """`max_rps` or `concurrency` is required if `max` exceeds `min`, and not allowed otherwise."""
    if bool(targets) == (maximum > minimum):
        return None
    if targets:
        return f"min and max are both {maximum}, nothing scales: write a larger max, or no target"
    return "missing scaling target: write max_rps or concurrency, or the same min and max"


@rule("components", f"{REQUIREMENTS}; huggingface/skills, hf-cloud-sagemaker-production-defaults")
def check_copy_resources(
    memory: int, cpus: float | None, accelerators: int | None, instance_type: InstanceType
) -> str | None:
    """One copy fits on an empty instance; on a GPU instance type it needs `accelerators`."""
    name, gpus = instance_type.name, instance_type.gpu_count
    rejected = REJECTED_MIB.get(name)
    if rejected and memory >= rejected:
        return f"SageMaker rejected {rejected} MB on {name}: write less memory_mb"
    if cpus and cpus > instance_type.vcpus:
        return f"{name} has {instance_type.vcpus} vCPUs: write fewer cpus"
    if gpus and not accelerators:
        return f"the archive is built for the GPU of {name}: write accelerators: 1"
    if accelerators and accelerators > gpus:
        return f"{name} has {gpus or 'no'} GPUs: write fewer accelerators, or none on a CPU type"
    return None


@rule("variants", "our choice: a component belongs to one variant (CreateInferenceComponent)")
def check_single_variant(count: int) -> str | None:
    """An endpoint with `hosting: components` has one variant."""
    if count == 1:
        return None
    return (
        "inference components support one variant only: remove the other variants, or write "
        "another endpoint"
    )


@rule("update.strategy", f"{API}InferenceComponentRollingUpdatePolicy.html")
def check_component_update_strategy(strategy: str) -> str | None:
    """With `hosting: components`, the strategy is `rolling` or `all-at-once`."""
    if strategy in ("rolling", "all-at-once"):
        return None
    return f"components have no {strategy} updates: write rolling, or remove update"


@rule("data_capture", "the developer guide does not document data capture of inference components")
def check_no_data_capture(captures: bool) -> str | None:
    """Data capture is not supported with `hosting: components`."""
    return "not known to work for components: remove it" if captures else None


@rule(
    "publish_metrics", "AWS does not document metrics of several Triton containers on one instance"
)
def check_no_published_metrics(published: bool) -> str | None:
    """`publish_metrics` is not supported with `hosting: components`."""
    return "not known to work for components: remove it" if published else None


@rule("scaling", "components scale by copies, and SageMaker adds instances for them")
def check_no_instance_scaling(scaling: object) -> str | None:
    """With `hosting: components`, `scaling` is not allowed: set `components.MODEL.copies`."""
    if scaling is None:
        return None
    return "components scale by copies: write components.MODEL.copies, and instances"


@rule("instance_types", "AWS does not document updates of CopyCount with instance pools")
def check_single_instance_type(instance_types: object) -> str | None:
    """With `hosting: components`, use `instance_type`, not `instance_types`."""
    if instance_types is None:
        return None
    return "components support one instance type: write instance_type"


def _check_order(minimum: int, maximum: int) -> str | None:
    return (
        None
        if maximum >= minimum
        else f"{maximum} is less than the minimum, {minimum}: write {minimum}"
    )
