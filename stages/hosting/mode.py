"""The base class of hosting modes of a stage."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from plan.document import Limits, PlannedComponent
from platform_facts import Region
from platform_facts.rules import Violation, components
from platform_facts.rules.updates import MAX_UPDATE_SECONDS
from stages.schema.endpoint import EndpointConfig


class StageHosting(ABC):
    """A hosting mode; subclasses define everything in a stage that depends on the mode."""

    @abstractmethod
    def problems(self, endpoint: EndpointConfig) -> Iterator[Violation]:
        """Yield settings that this mode does not support."""

    def region_problems(
        self, endpoint: EndpointConfig, region: Region, unconfirmed: Collection[str]
    ) -> Iterator[Violation]:
        """Yield settings that this mode does not support in a region.

        `unconfirmed` lists undocumented features that the stage accepts.
        """
        yield from ()

    def minimum_counts(self, endpoint: EndpointConfig) -> dict[tuple[str, ...], int]:
        """Return key -> count for every setting that sets the minimum number of instances."""
        counts: dict[tuple[str, ...], int] = {("instance_count",): endpoint.instance_count}
        if endpoint.scaling and endpoint.instance_count >= 2:
            counts[("scaling", "min_count")] = endpoint.scaling.min_count
            for name, schedule in endpoint.scaling.schedules.items():
                counts[("scaling", "schedules", name, "min_count")] = schedule.min_count
        return counts

    def max_servers(self, endpoint: EndpointConfig, model: str) -> int:
        """Return the maximum number of servers of a model in one variant, without schedules."""
        scaling = endpoint.scaling
        return max(endpoint.instance_count, scaling.max_count if scaling else 1)

    def max_instances(self, endpoint: EndpointConfig) -> int:
        """Return the maximum number of instances of a variant, without schedules."""
        return self.max_servers(endpoint, "")

    def max_update_seconds(self, endpoint: EndpointConfig) -> int:
        """Return the maximum duration of an update in seconds, at the maximum instance count."""
        counts, scaling = [endpoint.instance_count], endpoint.scaling
        if scaling:
            counts += [limits.max_count for limits in (scaling, *scaling.schedules.values())]
        return min(MAX_UPDATE_SECONDS, endpoint.update.times.max_seconds(max(counts)))

    def endpoint_name(self, full_name: str, endpoint: EndpointConfig) -> str:
        """Return the SageMaker endpoint name; `full_name` is STAGE-ENDPOINT."""
        return full_name

    def component_names(self, full_name: str, endpoint: EndpointConfig) -> Mapping[str, str]:
        """Return model -> name of its inference component."""
        return {}

    @abstractmethod
    def catalog_fields(
        self, model: str, archive: str, full_name: str, endpoint: EndpointConfig
    ) -> dict[str, Any]:
        """Return the fields of a catalog entry that identify the model in a request."""

    def instance_limits(self, endpoint: EndpointConfig) -> Limits:
        """Return the limits of the number of instances of a variant, with schedules."""
        scaling = endpoint.scaling
        if scaling is None:
            return Limits(minimum=endpoint.instance_count, maximum=endpoint.instance_count)
        limits = [scaling, *scaling.schedules.values()]
        return Limits(
            minimum=min(item.min_count for item in limits),
            maximum=max(item.max_count for item in limits),
        )

    def components(self, full_name: str, endpoint: EndpointConfig) -> dict[str, PlannedComponent]:
        """Return the inference components by the names of their models."""
        return {}


def component_key_problems(endpoint: EndpointConfig) -> list[Violation]:
    """Return violations for keys of the hosting mode `components`."""
    keys = [key for key in ("components", "instances") if getattr(endpoint, key) is not None]
    return components.check_component_keys(keys)
