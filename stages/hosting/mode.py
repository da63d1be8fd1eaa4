"""The constructs of an endpoint, by its hosting mode."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from platform_facts import Region
from platform_facts.rules import Violation, components
from platform_facts.rules.updates import LONGEST_SECONDS

if TYPE_CHECKING:
    from stages.schema.endpoint import EndpointConfig


class StageHosting(ABC):
    """A hosting mode: its subclass holds what of a stage differs from the other modes."""

    @abstractmethod
    def problems(self, endpoint: "EndpointConfig") -> Iterator[Violation]:
        """Yield settings that this mode does not support."""

    def problems_of_place(
        self, endpoint: "EndpointConfig", region: Region, unconfirmed: Collection[str]
    ) -> Iterator[Violation]:
        """Yield settings that this mode does not support in a region, or unconfirmed."""
        yield from ()

    def smallest_counts(self, endpoint: "EndpointConfig") -> dict[tuple[str, ...], int]:
        """Return the counts that may be all the instances there are, by their keys."""
        counts: dict[tuple[str, ...], int] = {("instance_count",): endpoint.instance_count}
        if endpoint.scaling and endpoint.instance_count >= 2:
            counts[("scaling", "min_count")] = endpoint.scaling.min_count
            for name, schedule in endpoint.scaling.schedules.items():
                counts[("scaling", "schedules", name, "min_count")] = schedule.min_count
        return counts

    def most_servers(self, endpoint: "EndpointConfig", model: str) -> int:
        """Return how many Tritons of a variant serve a model at the most, but for schedules."""
        scaling = endpoint.scaling
        return max(endpoint.instance_count, scaling.max_count if scaling else 1)

    def longest_update(self, endpoint: "EndpointConfig") -> int:
        """Return the seconds that an update of as many instances as scaling allows may take."""
        counts, scaling = [endpoint.instance_count], endpoint.scaling
        if scaling:
            counts += [limits.max_count for limits in (scaling, *scaling.schedules.values())]
        return min(LONGEST_SECONDS, endpoint.update.times.longest(max(counts)))

    def endpoint_name(self, full_name: str, endpoint: "EndpointConfig") -> str:
        """Return SageMaker's name of an endpoint, which is `full_name` together with its stage."""
        return full_name

    def component_names(self, full_name: str, endpoint: "EndpointConfig") -> Mapping[str, str]:
        """Return the names of inference components, by their models."""
        return {}

    @abstractmethod
    def catalog_members(
        self, model: str, archive: str, full_name: str, endpoint: "EndpointConfig"
    ) -> dict[str, Any]:
        """Return how a request names a model, of `archive`, as members of its catalog entry."""

    def plan_members(self, full_name: str, endpoint: "EndpointConfig") -> dict[str, Any]:
        """Return the members that the plan of this mode alone has."""
        return {}


def keys_of_other_modes(endpoint: "EndpointConfig") -> list[Violation]:
    """Return that keys are for components."""
    keys = [key for key in ("components", "instances") if getattr(endpoint, key) is not None]
    return components.keys_of_components(keys)
