"""Hosting mode `components`: inference components that share instances."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from plan.document import Limits, PlannedComponent
from platform_facts import Region
from platform_facts.rules import Violation, scaling, stage
from platform_facts.rules import components as rules
from platform_facts.rules.updates import CopiesUpdate
from stages.hosting.mode import StageHosting
from stages.schema.endpoint import EndpointConfig


class InferenceComponents(StageHosting):
    """Inference components: SageMaker places copies of each model by their reserved resources."""

    def problems(self, endpoint: EndpointConfig) -> Iterator[Violation]:
        """Yield settings that components do not support."""
        components, instances = endpoint.components or {}, endpoint.instances
        yield from rules.check_component_per_model(components, endpoint.models)
        yield from rules.check_instances_key(instances)
        yield from rules.check_no_instance_scaling(endpoint.scaling)
        yield from rules.check_single_instance_type(endpoint.instance_types)
        yield from rules.check_single_variant(len(endpoint.variants))
        yield from rules.check_component_update_strategy(endpoint.update.strategy)
        yield from rules.check_no_data_capture(endpoint.data_capture is not None)
        yield from rules.check_no_published_metrics(endpoint.publish_metrics)
        yield from stage.check_cache_models(endpoint.cache_models)
        if instances:
            minimum = max(1, instances.min)
            yield from scaling.check_instance_count(endpoint.instance_count, minimum, instances.max)
        for model, component in components.items():
            rule = rules.check_copy_resources.at("components", model)
            resources = component.memory_mb, component.cpus, component.accelerators
            for _, instance_type in endpoint.instance_type_settings:
                yield from rule(*resources, instance_type)

    def region_problems(
        self, endpoint: EndpointConfig, region: Region, unconfirmed: Collection[str]
    ) -> Iterator[Violation]:
        """Yield a violation if the region rejects 0 instances, or components are unconfirmed."""
        if endpoint.instances:
            yield from rules.check_zero_instances(endpoint.instances.min, region)
        yield from rules.check_components_confirmed(unconfirmed)

    def minimum_counts(self, endpoint: EndpointConfig) -> dict[tuple[str, ...], int]:
        """Return the minimums of instances and copies that are above 0."""
        counts: dict[tuple[str, ...], int] = {
            ("components", model, "copies", "min"): component.copies.min
            for model, component in (endpoint.components or {}).items()
        }
        if endpoint.instances:
            counts["instances", "min"] = endpoint.instances.min
        return {keys: count for keys, count in counts.items() if count}

    def max_servers(self, endpoint: EndpointConfig, model: str) -> int:
        """Return the maximum number of copies."""
        return (endpoint.components or {})[model].copies.max

    def max_instances(self, endpoint: EndpointConfig) -> int:
        """Return the maximum number of instances."""
        return endpoint.instances.max if endpoint.instances else 1

    def max_update_seconds(self, endpoint: EndpointConfig) -> int:
        """Return the duration of the component with the most copies; all update in parallel."""
        copies = max(self.max_servers(endpoint, model) for model in endpoint.models)
        return CopiesUpdate.of(endpoint.update.times, copies).max_seconds

    def endpoint_name(self, full_name: str, endpoint: EndpointConfig) -> str:
        """Return the name with the instance type, because a new type requires a new endpoint."""
        instance_type = endpoint.instance_type or ""
        return f"{full_name}-{instance_type.removeprefix('ml.').replace('.', '-')}"

    def component_names(self, full_name: str, endpoint: EndpointConfig) -> Mapping[str, str]:
        """Return model -> component name: the endpoint's name and the model's."""
        name = self.endpoint_name(full_name, endpoint)
        return {model: f"{name}-{model}" for model in endpoint.models}

    def catalog_fields(
        self, model: str, archive: str, full_name: str, endpoint: EndpointConfig
    ) -> dict[str, Any]:
        """Return the name of the inference component."""
        name = self.component_names(full_name, endpoint)[model]
        return {"target_model": None, "inference_component": name}

    def instance_limits(self, endpoint: EndpointConfig) -> Limits:
        """Return the limits of SageMaker's own scaling."""
        instances = endpoint.instances
        assert instances is not None
        return Limits(minimum=instances.min, maximum=instances.max)

    def components(self, full_name: str, endpoint: EndpointConfig) -> dict[str, PlannedComponent]:
        """Return the inference components."""
        names = self.component_names(full_name, endpoint)
        return {
            model: PlannedComponent(
                name=names[model],
                copies=Limits(minimum=component.copies.min, maximum=component.copies.max),
                initial_count=max(1, component.copies.min),
                memory_mb=component.memory_mb,
                scaling=component.copies.model_dump(exclude={"min", "max"}, exclude_none=True),
                cpus=component.cpus,
                accelerators=component.accelerators,
            )
            for model, component in (endpoint.components or {}).items()
        }
