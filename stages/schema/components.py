"""Inference components: reserved resources and number of copies."""

from typing import Annotated, Self

from pydantic import FiniteFloat, model_validator

from platform_facts.rules import components
from stages.schema.scaling import Seconds
from stages.schema.section import Section, raise_problems, range_field


class InstancesConfig(Section):
    """Limits of the instance count; SageMaker runs as many instances as the copies need."""

    min: Annotated[int, range_field(components.INSTANCES_MIN)]
    """Minimum number of instances. In some regions 0 is allowed: no instance runs without a
    copy."""
    max: Annotated[int, range_field(components.INSTANCES_MAX)]
    """Maximum number of instances."""

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        raise_problems(components.check_instance_limits(self.min, self.max), depth=1)
        return self


class CopiesConfig(Section):
    """Limits of the copy count, and the metrics to scale by."""

    min: Annotated[int, range_field(components.COPIES_MIN)]
    """Minimum number of copies. With 0, an unused model has no copy: the next request fails, and
    starts a copy."""
    max: Annotated[int, range_field(components.COPIES_MAX)]
    """Maximum number of copies."""
    max_rps: Annotated[FiniteFloat, range_field(components.COPY_RPS)] | None = None
    """Requests per second that one copy handled in a load test; the scaling target is half of
    it."""
    concurrency: Annotated[FiniteFloat, range_field(components.COPY_CONCURRENCY)] | None = None
    """Target number of concurrent requests per copy; the metric is published every ten seconds."""
    scale_out_cooldown_seconds: Seconds | None = None
    """Cooldown after copies were added, in seconds. Default: 60."""
    scale_in_cooldown_seconds: Seconds | None = None
    """Cooldown after copies were removed, in seconds. Default: 300."""

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        targets = [target for target in (self.max_rps, self.concurrency) if target is not None]
        problems = components.check_copy_limits(self.min, self.max)
        problems = problems or components.check_copy_scaling_target(self.min, self.max, targets)
        raise_problems(problems, depth=2)
        return self


class ComponentConfig(Section):
    """One model as an inference component; reserved resources are exclusive to a copy."""

    copies: CopiesConfig
    """Number of copies of the model."""
    memory_mb: Annotated[int, range_field(components.MEMORY)]
    """Memory that each copy reserves on the instance, in MB. Not all memory of an instance can be
    reserved; AWS does not document the limit."""
    accelerators: Annotated[int, range_field(components.ACCELERATORS)] | None = None
    """Number of GPUs that each copy reserves; at least 1 on a GPU type."""
    cpus: Annotated[FiniteFloat, range_field(components.CPUS)] | None = None
    """Number of vCPUs that each copy reserves. Default: no vCPUs are reserved."""
