"""Hosting mode `multi-model`: models are loaded at their first invocation."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from platform_facts.rules import Violation, prefix_violations, scaling, server, stage, variants
from stages.hosting.mode import StageHosting, keys_of_other_modes

if TYPE_CHECKING:
    from stages.schema.endpoint import EndpointConfig


class MultiModel(StageHosting):
    """Archives below one prefix; a request names one by its `TargetModel`."""

    def problems(self, endpoint: "EndpointConfig") -> Iterator[Violation]:
        """Yield settings that multi-model hosting does not support."""
        yield from keys_of_other_modes(endpoint)
        yield from server.answers_as_infer(endpoint.server.inference_type)
        yield from server.ping_of_many_models(endpoint.server.ping_mode)
        if endpoint.scaling:
            yield from scaling.concurrency_of_one_model(endpoint.scaling.concurrency)
        for keys, instance_type in endpoint.placed_types:
            yield from prefix_violations(keys, variants.one_gpu(instance_type))
        for name in stage.CACHE_ALARMS:
            if getattr(endpoint.alarms, name):
                yield from stage.cache_alarms_need_cache_models.at("alarms", name)(
                    endpoint.cache_models
                )

    def catalog_members(
        self, model: str, archive: str, full_name: str, endpoint: "EndpointConfig"
    ) -> dict[str, Any]:
        """Return the archive as `target_model`."""
        return {"target_model": archive}
