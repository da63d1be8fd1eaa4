"""Rules about variants of an endpoint and their instance types."""

from collections.abc import Sequence

from platform_facts import (
    ImageReference,
    InstanceType,
    Region,
    Release,
    Support,
    UnsupportedCombination,
    image_uri,
    instance_types,
)
from platform_facts._images import Processor
from platform_facts.rules.ranges import API
from platform_facts.rules.rule import rule

MAX_VARIANTS = 10
GUIDE = "docs.aws.amazon.com/sagemaker/latest/dg/"


@rule("variants", f"{API}CreateEndpointConfig.html, ProductionVariants")
def check_variant_count(count: int) -> str | None:
    """An endpoint has one to ten variants."""
    if 1 <= count <= MAX_VARIANTS:
        return None
    return f"{count} variants: write one to {MAX_VARIANTS}"


@rule(
    "variants",
    f"{API}ProductionVariant.html: a variant's traffic share is its weight divided by the sum",
)
def check_traffic(weights: Sequence[float]) -> str | None:
    """At least one variant has a weight above 0."""
    if any(weight > 0 for weight in weights):
        return None
    return "no variant gets traffic: write a weight above 0 for one of the variants"


@rule("update.strategy", f"{GUIDE}deployment-guardrails-exclusions.html")
def check_rolling_variant_count(strategy: str, variants: int) -> str | None:
    """`rolling` requires an endpoint with one variant."""
    if strategy == "rolling" and variants > 1:
        return "a rolling update supports one variant only: write canary, linear or all-at-once"
    return None


@rule("release", "platform_facts/regions.toml")
def check_release_region(release: Release, region: Region) -> str | None:
    """AWS publishes the image of the release in the stage's region."""
    try:
        image_uri(release=release, region=region, processor=Processor.GPU)
    except UnsupportedCombination as error:
        return str(error)
    return None


@rule("image.uri", f"{API}ContainerDefinition.html: Image, in the region of the endpoint")
def check_image_region(image: str, region: str) -> str | None:
    """An image of one's own, for endpoints or engine builds, is in ECR of the stage's region."""
    if ImageReference.parse(image).region == region:
        return None
    return f"the image is in another region than {region}: copy it there"


@rule(
    "image",
    f"{GUIDE}mms-container-apis.html: multi-model endpoints with GPUs are supported only with "
    "SageMaker's own Triton container",
)
def check_multi_model_image(instance_type: InstanceType) -> str | None:
    """With `image` and `hosting: multi-model`, the type has no GPU."""
    if instance_type.gpu is None:
        return None
    return (
        f"{instance_type.name} has a GPU, and a multi-model endpoint with GPUs runs only AWS's "
        "image: remove it, write an instance type without a GPU, or host a single model"
    )


@rule("instance_type", "platform_facts/releases.toml, compute capabilities")
def check_gpu_release(instance_type: InstanceType, release: Release) -> str | None:
    """The release supports the GPU of the instance type."""
    gpu = instance_type.gpu
    if gpu is None or not (required := release.required_compute_capability(gpu.compute_capability)):
        return None
    return (
        f"{instance_type.name} has a {gpu.name} of compute capability {gpu.compute_capability}, "
        f"release {release.name} needs {required}: write another instance type or another release"
    )


@rule(
    "volume_size_gb",
    "AWS's volume_size_supported (aws/sagemaker-python-sdk#4828), and its error: VolumeSize "
    "parameter is not allowed for the selected Instance type (autogluon/autogluon-cloud#50)",
)
def check_volume_size(size: float | None, instance_type: InstanceType) -> str | None:
    """`volume_size_gb` requires instance types without local NVMe storage."""
    if size is None or not instance_type.local_nvme:
        return None
    return (
        f"{instance_type.name} has local NVMe storage, and SageMaker attaches no volume to it: "
        "remove it, or write an instance type without such storage"
    )


@rule("instance_type", f"{GUIDE}multi-model-support.html: single-GPU types")
def check_single_gpu(instance_type: InstanceType) -> str | None:
    """With `hosting: multi-model`, the type has no GPU or a single GPU."""
    if instance_type.multi_model is not Support.NO:
        return None
    alternatives = [
        candidate.name
        for candidate in instance_types()
        if candidate.gpu == instance_type.gpu and candidate.multi_model is Support.YES
    ]
    return (
        f"{instance_type.name} cannot host a multi-model endpoint, which supports one GPU: write "
        f"{', '.join(alternatives) or 'a single-GPU type such as ml.g5.xlarge'}, or host a single "
        "model"
    )
