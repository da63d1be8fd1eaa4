"""Batches are no larger than a model takes."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Repository


def batch_sizes(repository: Repository) -> Iterator[tuple[Place, str]]:
    """`max_batch_size` is not negative; preferred batch sizes lie between 1 and it.

    Source: core src/model_config_utils.cc, ValidateModelConfig.
    """
    for model in repository.models.values():
        limit = model.config.max_batch_size
        if limit < 0:
            yield (
                model.at("max_batch_size"),
                f"is {limit}: write the largest batch, or 0 for a model that does not batch",
            )
        if model.backend == "dali" and limit < 1:
            yield model.at("max_batch_size"), "DALI pipelines run batches: write 1 or more"
        for scheduler in ("dynamic_batching", "sequence_batching"):
            if not model.config.HasField(scheduler):
                continue
            path: tuple[str, ...] = (scheduler,)
            settings = getattr(model.config, scheduler)
            if scheduler == "sequence_batching":
                path, settings = (scheduler, "oldest"), settings.oldest
            elif not limit:
                yield (
                    model.at(scheduler),
                    "makes no batches of a model with max_batch_size 0: remove it, or set "
                    "max_batch_size",
                )
                continue
            for index, size in enumerate(settings.preferred_batch_size):
                if not 1 <= size <= limit:
                    yield (
                        model.at(*path, "preferred_batch_size", index),
                        f"prefers batches of {size}: write 1 to max_batch_size ({limit})",
                    )
