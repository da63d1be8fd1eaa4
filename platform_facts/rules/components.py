"""Inference components: copies of models that reserve parts of instances, and scale to zero.

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
NEEDS = f"{API}InferenceComponentComputeResourceRequirements.html"

COPIES_MIN = Range(
    "components.copies.min",
    "developer guide, endpoint-auto-scaling-zero-instances: only components scale to zero",
    least=0,
)
COPIES_MAX = Range("components.copies.max", "our choice: with 0, nobody is ever served", least=1)
COPY_RPS, COPY_CONCURRENCY = (
    Range(f"components.copies.{name}", "our choice: a target of 0 would never be met", above=0)
    for name in ("max_rps", "concurrency")
)
INSTANCES_MIN, INSTANCES_MAX = (
    Range(f"instances.{name}", f"{API}ProductionVariantManagedInstanceScaling.html", least=least)
    for name, least in (("min", 0), ("max", 1))
)
MEMORY = Range("components.memory_mb", f"{NEEDS}, MinMemoryRequiredInMb", least=128)
CPUS = Range("components.cpus", f"{NEEDS}, NumberOfCpuCoresRequired", least=0.25)
ACCELERATORS = Range(
    "components.accelerators",
    f"{NEEDS}, NumberOfAcceleratorDevicesRequired: whole GPUs",
    least=1,
)


@rule("components", "each model of the endpoint is one inference component")
def component_of_every_model(written: Collection[str], models: Collection[str]) -> str | None:
    """Each model of an endpoint with hosting components has a component, and no other has one."""
    if set(written) == set(models):
        return None
    return f"names {', '.join(written) or 'none'}: write one for each of {', '.join(models)}"


@rule("instances", f"{API}ProductionVariant.html, ManagedInstanceScaling")
def instances_of_components(instances: object) -> str | None:
    """Hosting components has limits of its instances."""
    return None if instances else "missing: write instances: { min: 0, max: 2 }, for example"


@rule(
    "hosting",
    '"ManagedInstanceScaling is only supported for inference component endpoints." '
    "(hashicorp/terraform-provider-aws#45926)",
)
def keys_of_components(written: Collection[str]) -> str | None:
    """The keys components and instances are of hosting components."""
    if not written:
        return None
    return f"{', '.join(written)} only with hosting: components: remove it, or write that"


@rule("hosting", "no source says whether CloudFormation sets CopyCount again in each update")
def unconfirmed_copies(unconfirmed: Collection[str]) -> str | None:
    """A stage with components lists them as unconfirmed."""
    if "components" in unconfirmed:
        return None
    return (
        "an update of a stack may set the number of copies back to the one that the component was "
        "created with, for which there is no source: write unconfirmed: [components] for the "
        "stage, or another hosting"
    )


@rule(
    "instances.min",
    '"Min instance count needs to be greater than 0 for enabled managed instance scaling" '
    "(stdapi-ai/stdapi.ai#43); platform_facts/regions.toml, managed_instances",
)
def no_instances(least: int, region: Region) -> str | None:
    """No instance is the least where the region accepts that."""
    if least or region.zero_instances:
        return None
    return (
        f"SageMaker refuses 0 in {region.name}: write 1, with which copies still scale to zero, "
        "or another region"
    )


@rule("instances.max", f"{API}ProductionVariantManagedInstanceScaling.html")
def instances(least: int, most: int) -> str | None:
    """The most instances are no fewer than the least."""
    return _order(least, most)


@rule("components.copies.max", "RegisterScalableTarget's API reference, MaxCapacity")
def copies(least: int, most: int) -> str | None:
    """The most copies are no fewer than the least."""
    return _order(least, most)


@rule("components.copies", "our choice: without, nothing would ever scale")
def copies_scale_by(least: int, most: int, targets: Collection[object]) -> str | None:
    """Copies that scale have a target."""
    if bool(targets) == (most > least):
        return None
    if targets:
        return f"{most} copies are all there ever are: write a larger max, or no target"
    return "nothing to scale by: write max_rps or concurrency, or as many copies for min as for max"


@rule("components", f"{NEEDS}; huggingface/skills, hf-cloud-sagemaker-production-defaults")
def room_for_a_copy(
    memory: int, cpus: float | None, accelerators: int | None, instance_type: InstanceType
) -> str | None:
    """A copy has room on an empty instance, and a GPU where its archive is built for one."""
    name, gpus = instance_type.name, instance_type.gpu_count
    rejected = REJECTED_MIB.get(name)
    if rejected and memory >= rejected:
        return f"SageMaker refused {rejected} MB on {name}: write less memory_mb"
    if cpus and cpus > instance_type.vcpus:
        return f"{name} has {instance_type.vcpus} vCPUs: write fewer cpus"
    if gpus and not accelerators:
        return f"the archive is built for the GPU of {name}: write accelerators: 1"
    if accelerators and accelerators > gpus:
        return f"{name} has {gpus or 'no'} GPUs: write fewer accelerators, or none on a CPU type"
    return None


@rule("variants", "our choice: a component belongs to one variant (CreateInferenceComponent)")
def one_variant(count: int) -> str | None:
    """An endpoint of components has one variant."""
    if count == 1:
        return None
    return (
        "inference components support one variant only: remove the others, or write another "
        "endpoint"
    )


@rule("update.strategy", f"{API}InferenceComponentRollingUpdatePolicy.html")
def update_of_copies(strategy: str) -> str | None:
    """Components are updated in batches of copies."""
    if strategy in ("rolling", "all-at-once"):
        return None
    return f"components have no {strategy} updates: write rolling, or leave update out"


@rule("data_capture", "no page of the developer guide says what is recorded of components")
def capture_of_copies(captures: bool) -> str | None:
    """Requests to components are not recorded."""
    return "not known to work for components: remove it" if captures else None


@rule("publish_metrics", "no source says how several Tritons of an instance publish them")
def metrics_of_copies(published: bool) -> str | None:
    """Triton's metrics are not published from components."""
    return "not known to work for components: remove it" if published else None


@rule("scaling", "components scale by their copies, and instances follow")
def scaling_of_copies(scaling: object) -> str | None:
    """An endpoint of components has no scaling of its own."""
    if scaling is None:
        return None
    return "components scale one by one: write components.MODEL.copies, and instances"


@rule("instance_types", "no source says how CopyCount and pools go together in an update")
def one_type(instance_types: object) -> str | None:
    """Components are placed on instances of one type."""
    if instance_types is None:
        return None
    return "components take one type here: write instance_type"


def _order(least: int, most: int) -> str | None:
    return None if most >= least else f"{most} is less than the minimum, {least}: write {least}"
