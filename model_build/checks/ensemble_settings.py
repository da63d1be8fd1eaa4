"""Ensembles have steps, and only ensembles have."""

from model_build.findings import Problems
from model_build.repository import Model, Repository


def ensemble_settings(repository: Repository) -> Problems:
    """`platform: "ensemble"` and `ensemble_scheduling` come together, with steps that can be taken.

    Sources: core src/model_config_utils.cc (ValidateEnsembleSchedulingConfig),
    src/ensemble_scheduler/ensemble_utils.cc (ValidateEnsembleConfig).
    """
    for model in repository.models.values():
        if model.is_ensemble:
            yield from _of_an_ensemble(model, repository)
        elif model.config.HasField("ensemble_scheduling") and (
            model.config.platform or not model.config.ensemble_scheduling.step
        ):
            named = model.config.platform or model.backend
            yield (
                model.at("ensemble_scheduling"),
                f'is in a model of platform "{named}": remove one of them',
            )


def _of_an_ensemble(model: Model, repository: Repository) -> Problems:
    written = {field.name for field, _ in model.config.ListFields()}
    for name in ("optimization", "model_warmup"):
        if name in written:
            yield model.at(name), "is of the steps' models, not of an ensemble: remove it"
    steps = model.config.ensemble_scheduling.step
    if not steps:
        yield (
            model.at("ensemble_scheduling"),
            "an ensemble needs ensemble_scheduling with at least one step",
        )
    for index, step in enumerate(steps):
        if step.model_name:
            yield from _of_a_step(model, index, repository.models.get(step.model_name))
        else:
            yield model.at("ensemble_scheduling", "step", index), "a step has no model_name"


def _of_a_step(model: Model, index: int, used: Model | None) -> Problems:
    path = ("ensemble_scheduling", "step", index)
    step = model.config.ensemble_scheduling.step[index]
    if not step.input_map:
        yield model.at(*path), f'step "{step.model_name}" has no input_map'
    if not step.output_map:
        yield model.at(*path), f'step "{step.model_name}" has no output_map'
    limit = used.config.max_batch_size if used else 0
    if 0 < limit < model.config.max_batch_size:
        yield (
            model.at(*path, "model_name"),
            f'"{step.model_name}" takes batches up to {limit}, the ensemble up to '
            f"{model.config.max_batch_size}: make them equal",
        )
    versions = used.versions if used else []
    if step.model_version > 0 and versions and str(step.model_version) not in versions:
        yield (
            model.at(*path, "model_version"),
            f'"{step.model_name}" has no version {step.model_version}: write -1, or one of '
            f"{', '.join(versions)}",
        )
    if step.model_version < -1 or step.model_version == 0:
        yield (
            model.at(*path, "model_version"),
            f"model_version is {step.model_version}: write -1 for the latest",
        )
