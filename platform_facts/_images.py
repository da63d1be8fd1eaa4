from enum import StrEnum

from platform_facts._errors import UnsupportedCombination
from platform_facts._regions import Region
from platform_facts._releases import Release
from platform_facts._support import Support


class Processor(StrEnum):
    """The processor that an image supports."""

    GPU = "gpu"
    CPU = "cpu"


def image_uri(*, release: Release, region: Region, processor: Processor) -> str:
    """Return the ECR URI of the SageMaker Triton image of a release in a region.

    Raise `UnsupportedCombination` if `Region.availability` is `Support.NO`; undocumented
    combinations are accepted.

    Source: aws/sagemaker-python-sdk, image_uri_config/sagemaker-tritonserver.json.
    """
    if region.availability(release) is Support.NO:
        raise UnsupportedCombination(
            f"region {region.name} has no SageMaker Triton {release.name}: "
            f"its newest release is {region.newest_release}"
        )
    suffix = "-cpu" if processor is Processor.CPU else ""
    registry = f"{region.account(release)}.dkr.ecr.{region.name}.{region.dns_suffix}"
    return f"{registry}/sagemaker-tritonserver:{release.name}-py3{suffix}"
