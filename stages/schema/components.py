"""Inference components: reserved resources and number of copies."""

from typing import Annotated, Self

from pydantic import FiniteFloat, model_validator

from platform_facts.rules import components
from stages.schema.part import Part, refuse, within
from stages.schema.scaling import Seconds


class InstancesConfig(Part):
    """Limits of the instance count; SageMaker runs as many instances as the copies need."""

    min: Annotated[int, within(components.INSTANCES_MIN)]
    """Minimum number of instances; 0 allows none while there is no copy, in some regions."""
    max: Annotated[int, within(components.INSTANCES_MAX)]
    """Most instances."""

    @model_validator(mode="after")
    def _obeys(self) -> Self:
        refuse(components.instances(self.min, self.max), depth=1)
        return self


class CopiesConfig(Part):
    """Limits of the copy count, and the metrics to scale by."""

    min: Annotated[int, within(components.COPIES_MIN)]
    """Minimum number of copies. With 0, an unused model has no copy; the next request is refused
    and adds one."""
    max: Annotated[int, within(components.COPIES_MAX)]
    """Most copies."""
    max_rps: Annotated[FiniteFloat, within(components.COPY_RPS)] | None = None
    """Requests a second that one copy sustained in a load test; scaling aims at half of it."""
    concurrency: Annotated[FiniteFloat, within(components.COPY_CONCURRENCY)] | None = None
    """Target of requests in progress per copy; the metric is published every ten seconds."""
    scale_out_cooldown_seconds: Seconds | None = None
    """Time in which no further copies are added. Left out: 60."""
    scale_in_cooldown_seconds: Seconds | None = None
    """Time in which no further copies are removed. Left out: 300."""

    @model_validator(mode="after")
    def _obeys(self) -> Self:
        targets = [target for target in (self.max_rps, self.concurrency) if target is not None]
        problems = components.copies(self.min, self.max)
        problems = problems or components.copies_scale_by(self.min, self.max, targets)
        refuse(problems, depth=2)
        return self


class ComponentConfig(Part):
    """One model as an inference component; reserved resources are exclusive to a copy."""

    copies: CopiesConfig
    """Number of copies of the model."""
    memory_mb: Annotated[int, within(components.MEMORY)]
    """Memory of the instance that each copy reserves, in MB. Less can be reserved than an instance
    has; how much is documented nowhere."""
    accelerators: Annotated[int, within(components.ACCELERATORS)] | None = None
    """GPUs that each copy reserves: whole ones, on a GPU type at least 1."""
    cpus: Annotated[FiniteFloat, within(components.CPUS)] | None = None
    """vCPUs that each copy reserves. Left out: none are reserved."""
