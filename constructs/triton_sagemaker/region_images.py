"""The container images of a region."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from aws_cdk import Token

import platform_facts
from platform_facts import Processor
from platform_facts.rules import stage, variants
from triton_sagemaker.problems import Problem, check, prefix_problems
from triton_sagemaker.triton_container import ContainerImage
from triton_sagemaker.variant import Variant


def region_images(
    region: str, variants_by_name: Mapping[str, Variant]
) -> dict[str, ContainerImage]:
    """Return the image of each variant by name, without those that `image_problems` reports."""
    images = {}
    for name, variant in variants_by_name.items():
        if variant.container.image:
            images[name] = variant.container.image
            continue
        processor = Processor.GPU if variant.instance_type.gpu else Processor.CPU
        with suppress(platform_facts.UnknownFact, platform_facts.UnsupportedCombination):
            uri = platform_facts.image_uri(
                release=variant.container.release,
                region=platform_facts.region(region),
                processor=processor,
            )
            images[name] = ContainerImage(uri)
    return images


def image_problems(region_name: str, variants_by_name: Mapping[str, Variant]) -> Iterator[Problem]:
    """Yield the reasons for which a region has no image of a variant's release, or no endpoints."""
    if Token.is_unresolved(region_name):
        message = (
            "the stack is environment-agnostic, and images differ by region: write "
            "env=Environment(region=...)"
        )
        yield Problem("region", message)
        return
    try:
        region = platform_facts.region(region_name)
    except platform_facts.UnknownFact as error:
        yield Problem("region", str(error))
        return
    # An endpoint alone needs no other resource type that a region lacks, such as CodeBuild's.
    if region.missing_resource_type == "AWS::SageMaker::Endpoint":
        yield from check(stage.check_region_resource_types, region)
    releases = dict[platform_facts.Release, None]()
    for name, variant in variants_by_name.items():
        image = variant.container.image
        if image is None:
            releases[variant.container.release] = None
        elif not Token.is_unresolved(image.uri):
            problems = check(variants.check_image_region, image.uri, region.name)
            yield from prefix_problems(f"variants.{name}", problems)
    for release in releases:
        yield from check(variants.check_release_region, release, region)
