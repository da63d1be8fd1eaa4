"""Hosting mode `multi-model`: models are loaded at their first invocation."""

from collections.abc import Iterator
from typing import Any

from platform_facts.rules import Violation, prefix_violations, scaling, server, stage, variants
from stages.hosting.mode import StageHosting, component_key_problems
from stages.schema.endpoint import EndpointConfig


class MultiModel(StageHosting):
    """Archives below one prefix; the `TargetModel` of a request selects one."""

    def problems(self, endpoint: EndpointConfig) -> Iterator[Violation]:
        """Yield settings that multi-model hosting does not support."""
        yield from component_key_problems(endpoint)
        yield from server.check_inference_type_is_infer(endpoint.server.inference_type)
        yield from server.check_ping_mode(endpoint.server.ping_mode)
        if endpoint.scaling:
            yield from scaling.check_no_concurrency_scaling(endpoint.scaling.concurrency)
        for keys, instance_type in endpoint.instance_type_settings:
            yield from prefix_violations(keys, variants.check_single_gpu(instance_type))
        for name in stage.CACHE_ALARMS:
            if getattr(endpoint.alarms, name):
                yield from stage.check_cache_alarm.at("alarms", name)(endpoint.cache_models)

    def catalog_fields(
        self, model: str, archive: str, full_name: str, endpoint: EndpointConfig
    ) -> dict[str, Any]:
        """Return the archive as `target_model`."""
        return {"target_model": archive}
