"""An endpoint of a stage."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, FiniteFloat, field_validator, model_validator

import platform_facts
from platform_facts.rules import (
    Keys,
    Violation,
    pools,
    ranges,
    scaling,
    server,
    stage,
    updates,
    variants,
)
from stages.hosting import MODES
from stages.schema.alarms import AlarmsConfig
from stages.schema.capture import DataCaptureConfig
from stages.schema.components import ComponentConfig, InstancesConfig
from stages.schema.names import InstanceTypeName, Name, VariantName
from stages.schema.part import Part, obeying, refuse, within
from stages.schema.scaling import ScalingConfig
from stages.schema.server import Environment, ServerConfig
from stages.schema.update import UpdateConfig


class VariantConfig(Part):
    """One of several variants that share the traffic."""

    weight: Annotated[FiniteFloat, within(ranges.WEIGHT)] = 1.0
    """Share of the traffic, relative to the other variants'."""
    instance_type: InstanceTypeName | None = None
    """Other than the endpoint's."""


class EndpointConfig(Part):
    """One endpoint of a stage."""

    models: Annotated[list[Name], Field(min_length=1), obeying(stage.no_duplicates)]
    """Folders in models/ that the endpoint serves, each as an archive of its own."""
    hosting: Literal["multi-model", "single-model", "components"] = "multi-model"
    """multi-model loads models when they are asked for; single-model loads one at the start;
    components have copies of each model, none while nobody calls it."""
    instance_type: InstanceTypeName | None = None
    """SageMaker hosting instance type. A GPU type makes models build for that GPU."""
    instance_types: Annotated[list[InstanceTypeName], obeying(pools.number_of_types)] | None = None
    """Instead of instance_type: two to five types in order of preference. Where AWS has no capacity
    for one, instances of the next are started. For single-model hosting."""
    provision_timeout_minutes: Annotated[int, within(ranges.PROVISION_MINUTES)] | None = None
    """For how long SageMaker looks for capacity of instance_types before an update fails."""
    components: dict[Name, ComponentConfig] | None = None
    """What copies of each model reserve, and how many there are, by the models' names. For hosting
    components."""
    instances: InstancesConfig | None = None
    """Between how many instances SageMaker keeps for the copies. For hosting components."""
    instance_count: Annotated[int, within(ranges.INSTANCE_COUNT)] = 1
    """Instances that each variant starts with."""
    variants: Annotated[dict[VariantName, VariantConfig], Field(min_length=1)] = {
        "AllTraffic": VariantConfig()
    }
    """Variants by their names, which must never change."""
    scaling: ScalingConfig | None = None
    """Left out: the number of instances stays."""
    update: UpdateConfig = UpdateConfig(strategy="all-at-once")
    """Every update is rolled back when the endpoint's own alarms go off."""
    alarms: AlarmsConfig = AlarmsConfig()
    """Thresholds of the alarms, which production stages have."""
    server: ServerConfig = ServerConfig()
    """Options of the Triton server."""
    environment: Environment = {}
    """Variables of your own in the containers."""
    publish_metrics: bool = False
    """Publish Triton's own metrics to CloudWatch, by variables that no document confirms; not from
    a private network."""
    client_metrics: bool = False
    """Draw the metrics that applications publish with EmfLogger in a production dashboard."""
    detailed_observability: bool = False
    """Publish OpenTelemetry metrics of GPUs, hosts and containers, charged by the GB ingested."""
    cache_models: bool = True
    """Keep models in memory between invocations; false is for many that are each asked for once.
    For multi-model hosting."""
    data_capture: DataCaptureConfig | None = None
    """Record requests and responses in a bucket of the stage. Left out: nothing is recorded."""

    def variant_instance_types(self, variant: str) -> list[str]:
        """Return the instance types of a variant, the preferred first."""
        own = self.variants[variant].instance_type or self.instance_type
        return [own] if own else self.instance_types or []

    @field_validator("data_capture", mode="before")
    @classmethod
    def _capture_is_meant(cls, value: object) -> object:
        if value is None:
            raise ValueError("is empty: write data_capture: {} to record everything, or remove it")
        return value

    @model_validator(mode="after")
    def _obeys(self) -> Self:
        refuse(pools.one_way_to_name_types(self.instance_type, self.instance_types))
        refuse([*self._of_any_hosting(), *MODES[self.hosting].problems(self)])
        return self

    @property
    def placed_types(self) -> Iterator[tuple[Keys, platform_facts.InstanceType]]:
        """Each instance type, with the keys of the part that it is written for."""
        for name, variant in self.variants.items():
            keys = ("variants", name) if variant.instance_type else ()
            for written in self.variant_instance_types(name):
                yield keys, platform_facts.instance_type(written)

    def _of_any_hosting(self) -> Iterator[Violation]:
        update, scaled = self.update, self.scaling
        yield from variants.number_of_variants(len(self.variants))
        yield from variants.traffic([variant.weight for variant in self.variants.values()])
        yield from variants.rolling_of_one_variant(update.strategy, len(self.variants))
        yield from updates.update(update.times)
        for instance_type in dict.fromkeys(placed for _, placed in self.placed_types):
            yield from server.memory_of_a_gpu(self.server.model_load_gpu_limit, instance_type)
            if scaled:
                yield from scaling.utilization_of_a_gpu(scaled.gpu_percent, instance_type)
        for name, variant in self.variants.items():
            rule = pools.types_of_every_variant.at("variants", name, "instance_type")
            yield from rule(variant.instance_type, self.instance_types)
        yield from pools.timeout_of_a_pool(self.provision_timeout_minutes, self.instance_types)
        if self.instance_types:
            yield from self._of_a_pool(list(map(platform_facts.instance_type, self.instance_types)))
        if scaled and isinstance(scaled.concurrency, dict):
            yield from pools.concurrency_of_types(scaled.concurrency, self.instance_types)
        if scaled:
            limits = scaled.min_count, scaled.max_count
            yield from scaling.count_within_limits(self.instance_count, *limits)

    def _of_a_pool(self, types: list[platform_facts.InstanceType]) -> Iterator[Violation]:
        yield from pools.types_of_one_model(self.hosting)
        yield from pools.one_processor(types)
        yield from pools.one_storage(types)
        scaled = self.scaling
        if scaled and scaled.gpu_percent is not None:
            yield from pools.comparable_gpus(types)
        if scaled and scaled.cpu_percent is not None:
            yield from pools.comparable_vcpus(types)
