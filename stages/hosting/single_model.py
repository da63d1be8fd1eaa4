"""Hosting mode `single-model`: one model for each endpoint."""

from collections.abc import Iterator
from typing import Any

from platform_facts.rules import Violation, stage
from stages.hosting.mode import StageHosting, component_key_problems
from stages.schema.endpoint import EndpointConfig


class SingleModel(StageHosting):
    """One archive, which each instance loads when it starts."""

    def problems(self, endpoint: EndpointConfig) -> Iterator[Violation]:
        """Yield settings that single-model hosting does not support."""
        yield from component_key_problems(endpoint)
        yield from stage.check_single_model(len(endpoint.models))
        yield from stage.check_cache_models(endpoint.cache_models)

    def catalog_fields(
        self, model: str, archive: str, full_name: str, endpoint: EndpointConfig
    ) -> dict[str, Any]:
        """Return no `target_model`: requests do not name the model."""
        return {"target_model": None}
