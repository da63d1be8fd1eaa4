"""An endpoint of a stage."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, FiniteFloat, field_validator, model_validator

import platform_facts
from plan.document import HostingName, Limits
from platform_facts.rules import (
    Keys,
    Violation,
    components,
    pools,
    prefix_violations,
    ranges,
    scaling,
    server,
    stage,
    updates,
    variants,
)
from platform_facts.rules.updates import UpdateTimes
from stages.schema.alarms import AlarmsConfig
from stages.schema.capture import DataCaptureConfig
from stages.schema.components import ComponentConfig, InstancesConfig
from stages.schema.names import BackendName, EcrImage, InstanceTypeName, Name, VariantName
from stages.schema.scaling import ScalingConfig
from stages.schema.section import Section, raise_problems, range_field, rule_validator
from stages.schema.server import Environment, ServerConfig
from stages.schema.update import UpdateConfig


class VariantConfig(Section):
    """One of several variants that share the traffic."""

    weight: Annotated[FiniteFloat, range_field(ranges.WEIGHT)] = 1.0
    """Weight of the traffic; the share is this weight divided by the sum of all weights."""
    instance_type: InstanceTypeName | None = None
    """Instance type of this variant. Default: the instance type of the endpoint."""


class ImageConfig(Section):
    """An image of your own: Triton of the stage's release for x86-64, with SageMaker's serve."""

    uri: EcrImage
    """The image in ECR of the stage's region, by its digest."""
    backends: Annotated[list[BackendName], Field(min_length=1)] | None = None
    """The backends of the image. Default: those of the release."""


class EndpointConfig(Section):
    """One endpoint of a stage."""

    models: Annotated[list[Name], Field(min_length=1), rule_validator(stage.check_no_duplicates)]
    """Folders in models/ that the endpoint serves; each is one archive, or one for each row of its
    table."""
    hosting: HostingName = "multi-model"
    """multi-model loads models on their first request; single-model loads its model at the start;
    components scale copies of each model, down to none while the model is unused."""
    instance_type: InstanceTypeName | None = None
    """SageMaker hosting instance type. For a GPU type, models are built for that GPU."""
    instance_types: (
        Annotated[list[InstanceTypeName], rule_validator(pools.check_pool_size)] | None
    ) = None
    """Instead of instance_type: two to five types in order of preference. If AWS has no capacity
    for one type, it starts instances of the next. Not for multi-model hosting and components."""
    provision_timeout_minutes: Annotated[int, range_field(ranges.PROVISION_MINUTES)] | None = None
    """Time in which SageMaker looks for capacity of instance_types before an update fails."""
    download_timeout_minutes: Annotated[int, range_field(ranges.DOWNLOAD_MINUTES)] = 10
    """Time in which an instance or a copy downloads and unpacks its archive. Not for multi-model
    hosting."""
    startup_timeout_minutes: Annotated[int, range_field(ranges.STARTUP_MINUTES)] = 10
    """Time in which a container loads its model and passes the first health check."""
    volume_size_gb: Annotated[int, range_field(ranges.VOLUME_GB)] | None = None
    """Size of the volume of each instance. For types without local NVMe storage. Default:
    SageMaker's."""
    components: dict[Name, ComponentConfig] | None = None
    """Number of copies and reserved resources of each model, by model name. Required for hosting:
    components."""
    instances: InstancesConfig | None = None
    """Limits of the number of instances. Required for hosting: components."""
    instance_count: Annotated[int, range_field(ranges.INSTANCE_COUNT)] = 1
    """Initial number of instances of each variant."""
    variants: Annotated[dict[VariantName, VariantConfig], Field(min_length=1)] = {
        "AllTraffic": VariantConfig()
    }
    """Variants by name. A name must not change after the first deployment."""
    scaling: ScalingConfig | None = None
    """Scaling of the number of instances. Default: the number is fixed."""
    update: UpdateConfig = UpdateConfig(strategy="all-at-once")
    """Update strategy. Every update is rolled back if one of the endpoint's rollback alarms
    fires."""
    alarms: AlarmsConfig = AlarmsConfig()
    """Thresholds of the alarms. Only production stages have alarms."""
    on_failure: Literal["stop", "keep"] = "stop"
    """If the build of a model fails: stop before the endpoint changes; or keep the earlier version
    of the model, deploy the others, and end with exit code 5. For multi-model hosting."""
    image: ImageConfig | None = None
    """An image of your own. Default: AWS's image of the release."""
    server: ServerConfig = ServerConfig()
    """Options of the Triton server."""
    environment: Environment = {}
    """Additional environment variables of the containers."""
    publish_metrics: bool = False
    """Publish Triton's metrics to CloudWatch, by the image; not supported in a private network."""
    client_metrics: bool = False
    """Show metrics that applications publish with EmfLogger in the dashboard of a production
    stage."""
    detailed_observability: bool = False
    """Publish OpenTelemetry metrics of GPUs, hosts and containers, charged by the GB ingested."""
    cache_models: bool = True
    """Keep models in memory between invocations; set to false for many models that are rarely used.
    For multi-model hosting."""
    data_capture: DataCaptureConfig | None = None
    """Record requests and responses in a bucket of the stage. Default: nothing is recorded."""

    def variant_instance_types(self, variant: str) -> list[str]:
        """Return the instance types of a variant, in order of preference."""
        single_type = self.variants[variant].instance_type or self.instance_type
        return [single_type] if single_type else self.instance_types or []

    @field_validator("data_capture", mode="before")
    @classmethod
    def _reject_empty_capture(cls, value: object) -> object:
        if value is None:
            raise ValueError("is empty: write data_capture: {} to record everything, or remove it")
        return value

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        raise_problems(pools.check_instance_type_keys(self.instance_type, self.instance_types))
        raise_problems((*self._common_problems(), *self._hosting_problems()))
        return self

    @property
    def update_times(self) -> UpdateTimes:
        """The durations of an update, with the timeouts of this endpoint."""
        minutes = self.download_timeout_minutes, self.startup_timeout_minutes
        return self.update.times(updates.start_seconds(*minutes))

    def endpoint_name(self, stack: str) -> str:
        """Return the SageMaker endpoint name: the name of the stack.

        With components, the instance type follows, because a new type requires a new endpoint.
        """
        if self.hosting != "components":
            return stack
        instance_type = self.instance_type or ""
        return f"{stack}-{instance_type.removeprefix('ml.').replace('.', '-')}"

    def component_names(self, stack: str) -> dict[str, str]:
        """Return model -> name of its inference component: the endpoint's name and the model's."""
        models = self.models if self.hosting == "components" else []
        return {model: f"{self.endpoint_name(stack)}-{model}" for model in models}

    @property
    def instance_limits(self) -> Limits:
        """The limits of the number of instances of a variant, with schedules."""
        if self.instances:
            return Limits(minimum=self.instances.min, maximum=self.instances.max)
        if self.scaling is None:
            return Limits(minimum=self.instance_count, maximum=self.instance_count)
        limits = [self.scaling, *self.scaling.schedules.values()]
        return Limits(
            minimum=min(item.min_count for item in limits),
            maximum=max(item.max_count for item in limits),
        )

    @property
    def minimum_counts(self) -> dict[Keys, int]:
        """The settings of minimums of instances and copies by key; of components, those above 0."""
        if self.hosting == "components":
            counts: dict[Keys, int] = {
                ("components", model, "copies", "min"): component.copies.min
                for model, component in (self.components or {}).items()
            }
            if self.instances:
                counts["instances", "min"] = self.instances.min
            return {keys: count for keys, count in counts.items() if count}
        counts = {("instance_count",): self.instance_count}
        if self.scaling and self.instance_count >= 2:
            counts["scaling", "min_count"] = self.scaling.min_count
            for name, schedule in self.scaling.schedules.items():
                counts["scaling", "schedules", name, "min_count"] = schedule.min_count
        return counts

    @property
    def instance_type_settings(self) -> Iterator[tuple[Keys, platform_facts.InstanceType]]:
        """The instance types; each with the path of its variant, or () if the endpoint sets it."""
        for name, variant in self.variants.items():
            keys = ("variants", name) if variant.instance_type else ()
            for instance_type in self.variant_instance_types(name):
                yield keys, platform_facts.instance_type(instance_type)

    def _common_problems(self) -> Iterator[Violation]:
        update, scaling_config = self.update, self.scaling
        yield from variants.check_variant_count(len(self.variants))
        options = self.server
        yield from server.check_ports(
            options.allow_grpc, options.grpc_port, self.publish_metrics, options.metrics_port
        )
        yield from variants.check_traffic([variant.weight for variant in self.variants.values()])
        yield from variants.check_rolling_variant_count(update.strategy, len(self.variants))
        yield from updates.check_update(self.update_times)
        for instance_type in dict.fromkeys(setting for _, setting in self.instance_type_settings):
            yield from server.check_gpu_load_limit(options.model_load_gpu_limit, instance_type)
            yield from variants.check_volume_size(self.volume_size_gb, instance_type)
            if not self.instance_types:
                yield from self._utilization_problems([instance_type])
        for name, variant in self.variants.items():
            rule = pools.check_no_variant_instance_type.at("variants", name, "instance_type")
            yield from rule(variant.instance_type, self.instance_types)
        yield from pools.check_provision_timeout(
            self.provision_timeout_minutes, self.instance_types
        )
        if self.instance_types:
            yield from self._pool_problems(
                list(map(platform_facts.instance_type, self.instance_types))
            )
        if scaling_config and isinstance(scaling_config.concurrency, dict):
            yield from pools.check_concurrency_per_type(
                scaling_config.concurrency, self.instance_types
            )
        if scaling_config:
            limits = scaling_config.min_count, scaling_config.max_count
            yield from scaling.check_instance_count(self.instance_count, *limits)

    def _pool_problems(self, types: list[platform_facts.InstanceType]) -> Iterator[Violation]:
        yield from pools.check_pool_hosting(self.hosting)
        yield from pools.check_same_processor(types)
        yield from pools.check_same_storage(types)
        yield from self._utilization_problems(types)

    def _utilization_problems(
        self, types: list[platform_facts.InstanceType]
    ) -> Iterator[Violation]:
        for key in scaling.UTILIZATIONS:
            if self.scaling and key in self.scaling.targets:
                yield from scaling.check_utilization(key, types)

    def _hosting_problems(self) -> Iterator[Violation]:
        """Yield settings that the hosting mode does not support."""
        match self.hosting:
            case "components":
                yield from self._component_problems()
            case "single-model":
                yield from stage.check_single_model(len(self.models))
            case "multi-model":
                yield from self._multi_model_problems()
        if self.hosting != "multi-model":
            yield from stage.check_cache_models(self.cache_models)
            yield from stage.check_on_failure(self.on_failure)
        if self.hosting != "components":
            keys = [key for key in ("components", "instances") if getattr(self, key) is not None]
            yield from components.check_component_keys(keys)

    def _multi_model_problems(self) -> Iterator[Violation]:
        yield from server.check_inference_type_is_infer(self.server.inference_type)
        yield from server.check_ping_mode(self.server.ping_mode)
        yield from stage.check_download_timeout(self.download_timeout_minutes)
        if self.scaling:
            yield from scaling.check_no_concurrency_scaling(self.scaling.concurrency)
        for keys, instance_type in self.instance_type_settings:
            yield from prefix_violations(keys, variants.check_single_gpu(instance_type))
            if self.image:
                yield from variants.check_multi_model_image(instance_type)
        for name in stage.CACHE_ALARMS:
            if getattr(self.alarms, name):
                yield from stage.check_cache_alarm.at("alarms", name)(self.cache_models)

    def _component_problems(self) -> Iterator[Violation]:
        configs, instances = self.components or {}, self.instances
        yield from components.check_component_per_model(configs, self.models)
        yield from components.check_instances_key(instances)
        yield from components.check_no_instance_scaling(self.scaling)
        yield from components.check_single_instance_type(self.instance_types)
        yield from components.check_single_variant(len(self.variants))
        yield from components.check_component_update_strategy(self.update.strategy)
        yield from components.check_no_data_capture(self.data_capture is not None)
        yield from components.check_no_published_metrics(self.publish_metrics)
        if instances:
            minimum = max(1, instances.min)
            yield from scaling.check_instance_count(self.instance_count, minimum, instances.max)
        for model, component in configs.items():
            rule = components.check_copy_resources.at("components", model)
            resources = component.memory_mb, component.cpus, component.accelerators
            for _, instance_type in self.instance_type_settings:
                yield from rule(*resources, instance_type)
