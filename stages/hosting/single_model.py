"""Hosting mode `single-model`: one model, loaded when an instance starts."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from platform_facts.rules import Violation, stage
from stages.hosting.mode import StageHosting, keys_of_other_modes

if TYPE_CHECKING:
    from stages.schema.endpoint import EndpointConfig


class SingleModel(StageHosting):
    """One archive on the instances."""

    def problems(self, endpoint: "EndpointConfig") -> Iterator[Violation]:
        """Yield settings that single-model hosting does not support."""
        yield from keys_of_other_modes(endpoint)
        yield from stage.one_model(len(endpoint.models))
        yield from stage.cache_models_needs_multi_model(endpoint.cache_models)

    def catalog_members(
        self, model: str, archive: str, full_name: str, endpoint: "EndpointConfig"
    ) -> dict[str, Any]:
        """Return no `target_model`: requests do not name the model."""
        return {"target_model": None}
