"""The container images of a region."""

from collections.abc import Mapping

from aws_cdk import Token

import platform_facts
from platform_facts import Processor
from platform_facts.rules import stage, variants
from triton_sagemaker.problems import Problem, as_problems
from triton_sagemaker.variant import Variant


def region_images(
    region_name: str, variants_by_name: Mapping[str, Variant]
) -> tuple[dict[str, str], list[Problem]]:
    """Return the image of each variant by name, or no images and the problems."""
    if Token.is_unresolved(region_name):
        message = (
            "the stack is environment-agnostic, and images differ by region: write "
            "env=Environment(region=...)"
        )
        return {}, [Problem("region", message)]
    try:
        region = platform_facts.region(region_name)
    except platform_facts.UnknownFact as error:
        return {}, [Problem("region", str(error))]
    problems = list[Problem]()
    # An endpoint alone needs no other resource type that a region lacks, such as CodeBuild's.
    if region.missing_resource_type == "AWS::SageMaker::Endpoint":
        problems += as_problems(stage.check_region_resource_types(region))
    for release in dict.fromkeys(
        variant.container.release for variant in variants_by_name.values()
    ):
        problems += as_problems(variants.check_release_region(release, region))
    if problems:
        return {}, problems
    images = {}
    for name, variant in variants_by_name.items():
        processor = Processor.GPU if variant.instance_type.gpu else Processor.CPU
        images[name] = platform_facts.image_uri(
            release=variant.container.release, region=region, processor=processor
        )
    return images, []
