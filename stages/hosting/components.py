"""Hosting mode `components`: inference components that share instances."""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import platform_facts
from platform_facts import Region
from platform_facts.rules import Violation, scaling, stage
from platform_facts.rules import components as rules
from platform_facts.rules.updates import CopiesUpdate
from stages.hosting.mode import StageHosting

if TYPE_CHECKING:
    from stages.schema.components import ComponentConfig
    from stages.schema.endpoint import EndpointConfig


class InferenceComponents(StageHosting):
    """Inference components: one archive for each model, placed by reserved resources."""

    def problems(self, endpoint: "EndpointConfig") -> Iterator[Violation]:
        """Yield settings that components do not support."""
        components, instances = endpoint.components or {}, endpoint.instances
        yield from rules.component_of_every_model(components, endpoint.models)
        yield from rules.instances_of_components(instances)
        yield from rules.scaling_of_copies(endpoint.scaling)
        yield from rules.one_type(endpoint.instance_types)
        yield from rules.one_variant(len(endpoint.variants))
        yield from rules.update_of_copies(endpoint.update.strategy)
        yield from rules.capture_of_copies(endpoint.data_capture is not None)
        yield from rules.metrics_of_copies(endpoint.publish_metrics)
        yield from stage.cache_models_needs_multi_model(endpoint.cache_models)
        if instances:
            least = max(1, instances.min)
            yield from scaling.count_within_limits(endpoint.instance_count, least, instances.max)
        for model, component in components.items():
            for _, instance_type in endpoint.placed_types:
                yield from _component_problems(model, component, instance_type)

    def problems_of_place(
        self, endpoint: "EndpointConfig", region: Region, unconfirmed: Collection[str]
    ) -> Iterator[Violation]:
        """Yield a minimum of 0 instances if the region rejects it, and unconfirmed components."""
        if endpoint.instances:
            yield from rules.no_instances(endpoint.instances.min, region)
        yield from rules.unconfirmed_copies(unconfirmed)

    def smallest_counts(self, endpoint: "EndpointConfig") -> dict[tuple[str, ...], int]:
        """Return the minimums of instances and copies, without those that are 0 on purpose."""
        counts: dict[tuple[str, ...], int] = {
            ("components", model, "copies", "min"): component.copies.min
            for model, component in (endpoint.components or {}).items()
        }
        if endpoint.instances:
            counts["instances", "min"] = endpoint.instances.min
        return {keys: count for keys, count in counts.items() if count}

    def most_servers(self, endpoint: "EndpointConfig", model: str) -> int:
        """Return the maximum number of copies."""
        return (endpoint.components or {})[model].copies.max

    def longest_update(self, endpoint: "EndpointConfig") -> int:
        """Return the duration of the component with the most copies; all update in parallel."""
        most = max(self.most_servers(endpoint, model) for model in endpoint.models)
        return CopiesUpdate.of(endpoint.update.times, most).longest

    def endpoint_name(self, full_name: str, endpoint: "EndpointConfig") -> str:
        """Return the name with the instance type.

        SageMaker cannot change the instance type: a new type needs a new endpoint with a new name.
        """
        instance_type = endpoint.instance_type or ""
        return f"{full_name}-{instance_type.removeprefix('ml.').replace('.', '-')}"

    def component_names(self, full_name: str, endpoint: "EndpointConfig") -> Mapping[str, str]:
        """Return model -> component name: the endpoint's name and the model's."""
        name = self.endpoint_name(full_name, endpoint)
        return {model: f"{name}-{model}" for model in endpoint.models}

    def catalog_members(
        self, model: str, archive: str, full_name: str, endpoint: "EndpointConfig"
    ) -> dict[str, Any]:
        """Return the name of the inference component."""
        name = self.component_names(full_name, endpoint)[model]
        return {"target_model": None, "inference_component": name}

    def plan_members(self, full_name: str, endpoint: "EndpointConfig") -> dict[str, Any]:
        """Return the components, and the limits of the instances."""
        names, instances = self.component_names(full_name, endpoint), endpoint.instances
        return {
            "components": {
                model: {
                    "name": names[model],
                    "min_copies": component.copies.min,
                    "max_copies": component.copies.max,
                    "memory_mb": component.memory_mb,
                    "accelerators": component.accelerators,
                    "cpus": component.cpus,
                }
                for model, component in (endpoint.components or {}).items()
            },
            "instances": instances and {"min": instances.min, "max": instances.max},
        }


def _component_problems(
    model: str, component: "ComponentConfig", instance_type: platform_facts.InstanceType
) -> Iterator[Violation]:
    needs = component.memory_mb, component.cpus, component.accelerators
    room = rules.room_for_a_copy.at("components", model)
    yield from room(*needs, instance_type)
