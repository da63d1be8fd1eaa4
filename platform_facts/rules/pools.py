"""Rules about instance pools: several instance types of one variant, in order of preference.

Sources: developer guide, realtime-endpoints-heterogeneous; API reference, ProductionVariant and
InstancePool. Not tested on AWS.
"""

from collections.abc import Collection, Mapping, Sequence

from platform_facts import InstanceType, Region, Release
from platform_facts.rules.ranges import API
from platform_facts.rules.rule import rule
from platform_facts.rules.variants import GUIDE

POOLS = f"{GUIDE}realtime-endpoints-heterogeneous.html"
MAX_TYPES = 5


@rule("instance_types", f"{API}ProductionVariant.html, InstancePools: 1 to 5")
def number_of_types(names: Sequence[str]) -> str | None:
    """A pool has two to five instance types, each listed once."""
    if not 2 <= len(names) <= MAX_TYPES:
        return f"a list of {len(names)}: write two to {MAX_TYPES} types, or instance_type for one"
    repeated = sorted({name for name in names if names.count(name) > 1})
    return f"{', '.join(repeated)} listed twice: remove one" if repeated else None


@rule("instance_types", f"{API}ProductionVariant.html: InstancePools replaces InstanceType")
def one_way_to_name_types(instance_type: object, instance_types: object) -> str | None:
    """An endpoint has either instance_type or instance_types."""
    if instance_type and instance_types:
        return "instance_type is written too: remove one of them"
    return None if instance_type or instance_types else "missing: write it, or instance_type"


@rule("instance_types", f"{POOLS}: single-model endpoints; multi-model endpoints are not named")
def types_of_one_model(hosting: str) -> str | None:
    """Several instance types are for single-model hosting."""
    if hosting != "multi-model":
        return None
    return (
        "AWS documents several types for single-model endpoints alone: write instance_type, or "
        "hosting: single-model"
    )


@rule("variants.instance_type", "our choice: each variant would scale by another measure")
def types_of_every_variant(own: object, instance_types: object) -> str | None:
    """Every variant of an endpoint with instance_types has all of them."""
    if own and instance_types:
        return "instance_types are those of every variant: remove it"
    return None


@rule("instance_types", "one image and one scaling metric for all: our choice")
def one_processor(types: Sequence[InstanceType]) -> str | None:
    """All types of a pool have GPUs, or none has."""
    without = [instance_type.name for instance_type in types if instance_type.gpu is None]
    if not without or len(without) == len(types):
        return None
    return f"{', '.join(without)} has no GPU, and the others have: write types of one kind"


@rule("instance_types", "no page says how volumes of such a pool are encrypted")
def one_storage(types: Sequence[InstanceType]) -> str | None:
    """All types of a pool have local NVMe storage, or none has."""
    without = [instance_type.name for instance_type in types if not instance_type.local_nvme]
    if not without or len(without) == len(types):
        return None
    return f"{', '.join(without)} has no NVMe storage, and the others have: write types of one kind"


@rule("instance_types", f"{API}ProductionVariant.html: one InferenceAmiVersion for all types")
def one_driver(types: Sequence[InstanceType], release: Release) -> str | None:
    """A release that runs on pools of GPU types has a known InferenceAmiVersion.

    Default AMIs differ between families: those of ml.g4dn and ml.g5 have driver 470.
    """
    if release.preferred_inference_ami or not any(each.gpu for each in types):
        return None
    return (
        f"no source names the InferenceAmiVersion of release {release.name}, and the types' "
        "default drivers differ: write a newer release, or instance_type"
    )


@rule("instance_types", "platform_facts/regions.toml, instance_pools")
def region_of_pools(region: Region, unconfirmed: Collection[str]) -> str | None:
    """The region is one of those that AWS's sample names, or pools are listed as unconfirmed."""
    if region.instance_pools or "pools" in unconfirmed:
        return None
    return (
        f"{region.name} is not among the regions that AWS's sample names for instance pools, while "
        "its blog names all commercial ones: write instance_type, another region, or unconfirmed: "
        "[pools] for the stage"
    )


@rule(
    "provision_timeout_minutes", f"{API}ProductionVariant.html: no effect is documented of one type"
)
def timeout_of_a_pool(timeout: object, instance_types: object) -> str | None:
    """A provisioning time-out is for several instance types."""
    if timeout is None or instance_types:
        return None
    return "one instance type has no next one to try: remove it, or write instance_types"


@rule("scaling.gpu_percent", "developer guide, monitoring-cloudwatch: a sum over the GPUs")
def comparable_gpus(types: Sequence[InstanceType]) -> str | None:
    """GPU utilisation is compared between types of as many GPUs."""
    return _different({each.name: each.gpu_count for each in types}, "GPUs")


@rule("scaling.cpu_percent", "developer guide, monitoring-cloudwatch: a sum over the cores")
def comparable_vcpus(types: Sequence[InstanceType]) -> str | None:
    """CPU utilisation is compared between types of as many vCPUs."""
    return _different({each.name: each.vcpus for each in types}, "vCPUs")


@rule("scaling.concurrency", f"{POOLS}: metric math with the concurrency of each type")
def concurrency_of_types(written: Collection[str], types: Collection[str] | None) -> str | None:
    """Concurrency by instance type names each of instance_types."""
    if not types:
        return "the endpoint has one instance type: write one number"
    if set(written) == set(types):
        return None
    return f"names {', '.join(written)}: write a number for each of {', '.join(types)}"


def _different(counts: Mapping[str, int], unit: str) -> str | None:
    if len(set(counts.values())) <= 1:
        return None
    written = ", ".join(f"{count} of {name}" for name, count in counts.items())
    return f"the metric is a sum over {unit}, {written}: write max_rps or concurrency instead"
