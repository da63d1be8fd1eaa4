"""Responses are cached where Triton can tell requests apart."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Repository


def response_cache(repository: Repository) -> Iterator[tuple[Place, str]]:
    """No cache for stateful and decoupled models: one request may have other answers, or several.

    Source: core src/model_config_utils.cc, ValidateModelConfig; triton-inference-server/core#91.
    """
    for model in repository.models.values():
        if not model.config.response_cache.enable:
            continue
        policies = {
            "sequence_batching": model.config.HasField("sequence_batching"),
            "decoupled: true": model.config.model_transaction_policy.decoupled,
        }
        for policy in (name for name, applies in policies.items() if applies):
            yield (
                model.at("response_cache"),
                f"cannot cache the answers of a model with {policy}: remove one of them",
            )
