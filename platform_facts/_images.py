import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from platform_facts._errors import UnsupportedCombination
from platform_facts._regions import Region
from platform_facts._releases import Release
from platform_facts._support import Support

TRITON_REPOSITORY = "sagemaker-tritonserver"
"""The repository of AWS's images of SageMaker Triton, in each region's registry."""


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
    return f"{registry}/{TRITON_REPOSITORY}:{release.name}-py3{suffix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageReference:
    """The parts of ACCOUNT.dkr.ecr.REGION.SUFFIX/REPOSITORY:TAG, or REPOSITORY@DIGEST.

    The other one of `tag` and `digest` is empty.
    """

    account: str
    region: str
    repository: str
    tag: str
    digest: str

    @classmethod
    def parse(cls, uri: str) -> Self:
        """Return the parts of an image's URI. Raise `ValueError` if it is not one of ECR."""
        match = _ECR_IMAGE.fullmatch(uri)
        if match is None:
            raise ValueError(f"{uri!r} is not an image of an ECR repository")
        return cls(**match.groupdict(default=""))

    def repository_arn(self, partition: str) -> str:
        """Return the ARN of the repository."""
        return f"arn:{partition}:ecr:{self.region}:{self.account}:repository/{self.repository}"


_ECR_IMAGE = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[\w-]+)\.[^/]+/(?P<repository>[^:@]+)"
    r"(?::(?P<tag>[^:@]+)|@(?P<digest>sha256:[0-9a-f]{64}))"
)
