"""Responses are cached where Triton can tell requests apart."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Repository


def response_cache(repository: Repository) -> Iterator[tuple[Place, str]]:
    """No cache for stateful models, whose answers depend on more than the request.

    Source: core src/model_config_utils.cc, ValidateModelConfig.
    """
    for model in repository.models.values():
        if model.config.response_cache.enable and model.config.HasField("sequence_batching"):
            yield (
                model.at("response_cache"),
                "cannot cache the answers of a model with sequence_batching: remove one of them",
            )
