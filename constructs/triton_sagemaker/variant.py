"""One production variant."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from platform_facts import Processor
from triton_sagemaker.hosting import MultiModelHosting, SingleModelHosting
from triton_sagemaker.instances import Instances
from triton_sagemaker.problems import Problem, inside
from triton_sagemaker.triton_container import TritonContainer

_NAME = re.compile(r"[a-zA-Z0-9](-?[a-zA-Z0-9]){0,62}")


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A container, what it serves, and where.

    `name` must never change: deployment guardrails and scaling go by it. `weight` is the variant's
    share of the traffic, relative to the others'.
    """

    container: TritonContainer
    hosting: MultiModelHosting | SingleModelHosting
    instances: Instances
    name: str = "AllTraffic"
    weight: float = 1.0

    def problems(self) -> Iterator[Problem]:
        """Yield everything that is wrong with the variant and its parts."""
        multi_model = self.hosting.multi_model
        if not _NAME.fullmatch(self.name):
            yield Problem("name", f'"{self.name}" is no variant name: write letters and digits')
        if self.weight < 0:
            yield Problem("weight", f"{self.weight} is negative: write 0 or more")
        yield from inside("hosting", self.hosting.problems())
        yield from inside("container", self.container.problems(multi_model=multi_model))
        release = self.container.release
        yield from inside(
            "instances", self.instances.problems(release=release, multi_model=multi_model)
        )
        gpu = self.instances.instance_type.gpu
        if (self.container.processor is Processor.GPU) != bool(gpu):
            yield Problem(
                "container.processor",
                f"{self.instances.instance_type.name} has {'a' if gpu else 'no'} GPU: write "
                f"Processor.{'GPU' if gpu else 'CPU'}",
            )
