"""Rules about instance pools: several instance types for one variant, in order of preference.

Sources: developer guide, realtime-endpoints-heterogeneous; API reference, ProductionVariant and
InstancePool. Not tested on AWS.
"""

from collections.abc import Collection, Sequence

from platform_facts import InstanceType, Region, Release
from platform_facts.rules.ranges import API
from platform_facts.rules.rule import rule
from platform_facts.rules.variants import GUIDE

POOLS = f"{GUIDE}realtime-endpoints-heterogeneous.html"
MAX_TYPES = 5


@rule("instance_types", f"{API}ProductionVariant.html, InstancePools: 1 to 5")
def check_pool_size(names: Sequence[str]) -> str | None:
    """`instance_types` has two to five instance types, without duplicates."""
    if not 2 <= len(names) <= MAX_TYPES:
        return f"a list of {len(names)}: write two to {MAX_TYPES} types, or instance_type for one"
    repeated = sorted({name for name in names if names.count(name) > 1})
    return f"{', '.join(repeated)} listed twice: remove one" if repeated else None


@rule("instance_types", f"{API}ProductionVariant.html: InstancePools replaces InstanceType")
def check_instance_type_keys(instance_type: object, instance_types: object) -> str | None:
    """An endpoint has exactly one of `instance_type` and `instance_types`."""
    if instance_type and instance_types:
        return "instance_type is written too: remove one of them"
    return None if instance_type or instance_types else "missing: write it, or instance_type"


@rule("instance_types", f"{POOLS}: single-model endpoints; multi-model endpoints are not named")
def check_pool_hosting(hosting: str) -> str | None:
    """`instance_types` is not supported with `hosting: multi-model`."""
    if hosting != "multi-model":
        return None
    return (
        "AWS documents several types for single-model endpoints only: write instance_type, or "
        "hosting: single-model"
    )


@rule(
    "variants.instance_type", "our choice: otherwise the variants would scale by different metrics"
)
def check_no_variant_instance_type(instance_type: object, instance_types: object) -> str | None:
    """A variant of an endpoint with `instance_types` has no `instance_type`."""
    if instance_type and instance_types:
        return "instance_types applies to every variant: remove instance_type here"
    return None


@rule("instance_types", "our choice: all types use one image and one scaling metric")
def check_same_processor(types: Sequence[InstanceType]) -> str | None:
    """Either all types of the pool have GPUs, or none of them has."""
    types_without = [instance_type.name for instance_type in types if instance_type.gpu is None]
    if not types_without or len(types_without) == len(types):
        return None
    return (
        f"{', '.join(types_without)} has no GPU, other types have: write only GPU or only CPU types"
    )


@rule("instance_types", "AWS does not document volume encryption for mixed pools")
def check_same_storage(types: Sequence[InstanceType]) -> str | None:
    """Either all types of the pool have local NVMe storage, or none of them has."""
    types_without = [instance_type.name for instance_type in types if not instance_type.local_nvme]
    if not types_without or len(types_without) == len(types):
        return None
    return (
        f"{', '.join(types_without)} has no local NVMe storage, other types have: write only types "
        "with it, or only types without it"
    )


@rule("instance_types", f"{API}ProductionVariant.html: one InferenceAmiVersion for all types")
def check_pool_inference_ami(types: Sequence[InstanceType], release: Release) -> str | None:
    """GPU pools require a release with a known InferenceAmiVersion.

    Default AMIs differ between families: those of ml.g4dn and ml.g5 have driver 470.
    """
    if release.preferred_inference_ami or not any(instance_type.gpu for instance_type in types):
        return None
    return (
        f"the InferenceAmiVersion for release {release.name} is not known, and the types may have "
        "different default drivers: write a newer release, or instance_type"
    )


@rule("instance_types", "platform_facts/regions.toml, instance_pools")
def check_pool_region(region: Region, unconfirmed: Collection[str]) -> str | None:
    """Outside the regions of AWS's sample, `instance_types` requires `unconfirmed: [pools]`."""
    if region.instance_pools or "pools" in unconfirmed:
        return None
    return (
        f"{region.name} is not among the regions that AWS's sample names for instance pools, while "
        "its blog names all commercial ones: write instance_type, another region, or unconfirmed: "
        "[pools] for the stage"
    )


@rule(
    "provision_timeout_minutes",
    f"{API}ProductionVariant.html: no effect is documented for one type",
)
def check_provision_timeout(timeout: object, instance_types: object) -> str | None:
    """`provision_timeout_minutes` requires `instance_types`."""
    if timeout is None or instance_types:
        return None
    return (
        "with one instance type there is no other type to try: remove it, or write instance_types"
    )


@rule("scaling.concurrency", f"{POOLS}: metric math with the concurrency of each type")
def check_concurrency_per_type(
    targets: Collection[str], types: Collection[str] | None
) -> str | None:
    """A map of concurrency targets has one number for each type of `instance_types`."""
    if not types:
        return "the endpoint has one instance type: write one number"
    if set(targets) == set(types):
        return None
    return f"names {', '.join(targets)}: write a number for each of {', '.join(types)}"
