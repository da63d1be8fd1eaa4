"""Inference components: reserved resources and number of copies."""

from typing import Annotated, Self

from pydantic import FiniteFloat, model_validator

from platform_facts.rules import components
from stages.schema.part import Part, refuse, within
from stages.schema.scaling import Seconds


class InstancesConfig(Part):
    """Between how many instances SageMaker keeps, as many as the copies need."""

    min: Annotated[int, within(components.INSTANCES_MIN)]
    """Fewest instances: 0 for none while there is no copy, where the region takes that."""
    max: Annotated[int, within(components.INSTANCES_MAX)]
    """Most instances."""

    @model_validator(mode="after")
    def _obeys(self) -> Self:
        refuse(components.instances(self.min, self.max), depth=1)
        return self


class CopiesConfig(Part):
    """Between how many copies of a model, and by what."""

    min: Annotated[int, within(components.COPIES_MIN)]
    """Fewest copies: with 0, a model that nobody calls has none. The next call is refused, and
    wakes it."""
    max: Annotated[int, within(components.COPIES_MAX)]
    """Most copies."""
    max_rps: Annotated[FiniteFloat, within(components.COPY_RPS)] | None = None
    """Requests a second that one copy sustained in a load test; scaling aims at half of it."""
    concurrency: Annotated[FiniteFloat, within(components.COPY_CONCURRENCY)] | None = None
    """Requests that each copy works on at once, to aim at: measured every ten seconds."""
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
    """One model as an inference component. What a copy reserves, no other gets."""

    copies: CopiesConfig
    """How many copies of the model there are."""
    memory_mb: Annotated[int, within(components.MEMORY)]
    """Memory of the instance that each copy reserves, in MB. Less can be reserved than an instance
    has; how much is documented nowhere."""
    accelerators: Annotated[int, within(components.ACCELERATORS)] | None = None
    """GPUs that each copy reserves: whole ones, on a GPU type at least 1."""
    cpus: Annotated[FiniteFloat, within(components.CPUS)] | None = None
    """vCPUs that each copy reserves. Left out: none are reserved."""
