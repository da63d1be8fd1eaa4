"""The images of the region that an endpoint is in."""

from collections.abc import Mapping

from aws_cdk import Token

import platform_facts
from triton_sagemaker.problems import Problem
from triton_sagemaker.variant import Variant


def region_images(
    region_name: str, variants: Mapping[str, Variant]
) -> tuple[dict[str, str], list[Problem]]:
    """Return the image of each variant, and why there is none: then, images are empty."""
    problem = _problem(region_name)
    if problem is None:
        region = platform_facts.region(region_name)
        try:
            return {name: variant.image(region) for name, variant in variants.items()}, []
        except platform_facts.UnsupportedCombination as error:
            problem = Problem("container.release", str(error), ("release",))
    return dict.fromkeys(variants, ""), [problem]


def _problem(region_name: str) -> Problem | None:
    if Token.is_unresolved(region_name):
        return Problem(
            "region",
            "the stack is environment-agnostic, and every region has images of its own: write "
            "env=Environment(region=...)",
        )
    try:
        missing = platform_facts.region(region_name).missing
    except platform_facts.UnknownFact as error:
        return Problem("region", str(error))
    if missing == "AWS::SageMaker::Endpoint":
        return Problem("region", f"CloudFormation has no {missing} in {region_name}: use another")
    return None
