"""The instances of a variant."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from aws_cdk import Duration, Size, SizeRoundingBehavior

from platform_facts import (
    InstanceType,
    Release,
    UnknownFact,
    cuda_satisfies,
    inference_ami,
)
from platform_facts.rules import ranges, variants
from platform_facts.rules.updates import CONTAINER_SECONDS, PROVISIONING_SECONDS
from triton_sagemaker.durations import duration_problems, seconds
from triton_sagemaker.problems import Problem, of_rules

Routing = Literal["LEAST_OUTSTANDING_REQUESTS", "RANDOM"]

CONTAINER_TIMEOUT = Duration.seconds(CONTAINER_SECONDS)


@dataclass(frozen=True, kw_only=True)
class Instances:
    """Machines, and how SageMaker starts them.

    `startup_timeout` and `download_timeout`, a minute to an hour, are for the container's health
    check, and for one archive. `volume_size` is 1 to 512 GiB; types with NVMe storage have none.
    `inference_ami` overrides the one that the release table prefers for GPU types. `routing` is how
    requests are spread over instances; the default suits models of uneven latency.
    """

    instance_type: InstanceType
    initial_count: int = 1
    startup_timeout: Duration = CONTAINER_TIMEOUT
    download_timeout: Duration = CONTAINER_TIMEOUT
    volume_size: Size | None = None
    inference_ami: str | None = None
    routing: Routing = "LEAST_OUTSTANDING_REQUESTS"

    def ami(self, release: Release) -> str | None:
        """Return the InferenceAmiVersion to ask for; None on CPU types, which have no choice."""
        if self.instance_type.gpu is None:
            return None
        return self.inference_ami or release.preferred_inference_ami

    @property
    def longest_start(self) -> int:
        """How many seconds may pass until all of them serve, or SageMaker has given up."""
        waits = seconds(self.download_timeout) + seconds(self.startup_timeout)
        return PROVISIONING_SECONDS + waits

    @property
    def volume_gibibytes(self) -> float | None:
        """The size of the volume, whole or to be refused."""
        if self.volume_size is None:
            return None
        return self.volume_size.to_gibibytes(rounding=SizeRoundingBehavior.NONE)

    def problems(self, release: Release) -> Iterator[Problem]:
        """Yield what SageMaker would refuse, or what the image could not run on."""
        yield from of_rules(ranges.INSTANCE_COUNT(self.initial_count), self.initial_count)
        for name in ("startup_timeout", "download_timeout"):
            yield from duration_problems(f"instances.{name}", getattr(self, name), 60, 3600)
        if (size := self.volume_gibibytes) is not None:
            yield from self._volume_problems(size)
        yield from self._gpu_problems(release)

    def _volume_problems(self, size: float) -> Iterator[Problem]:
        if self.instance_type.local_nvme:
            yield Problem(
                "instances.volume_size",
                f"{self.instance_type.name} has NVMe storage of its own, and SageMaker refuses a "
                "volume size: remove it",
            )
        elif size != int(size) or not 1 <= size <= 512:
            yield Problem(
                "instances.volume_size", f"{size} GiB is out of range: write 1 to 512 whole GiB"
            )

    def _gpu_problems(self, release: Release) -> Iterator[Problem]:
        name, gpu = self.instance_type.name, self.instance_type.gpu
        if gpu is None:
            if self.inference_ami:
                yield Problem(
                    "instances.inference_ami", f"{name} has no GPU and takes none: remove it"
                )
            return
        yield from of_rules(variants.gpu_of_release(self.instance_type, release))
        if self.inference_ami is None:
            return
        try:
            ami = inference_ami(self.inference_ami)
        except UnknownFact as error:
            yield Problem("instances.inference_ami", str(error))
            return
        if release.cuda and not cuda_satisfies(offered=ami.cuda, needed=release.cuda):
            yield Problem(
                "instances.inference_ami",
                f"{ami.name} has a driver for CUDA {ami.cuda}, the image of {release.name} needs "
                f"{release.cuda}: write {release.preferred_inference_ami}, or leave it out",
            )
