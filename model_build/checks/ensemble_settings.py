"""Ensembles have steps, and only ensembles have."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Repository


def ensemble_settings(repository: Repository) -> Iterator[tuple[Place, str]]:
    """`platform: "ensemble"` and `ensemble_scheduling` come together, with at least one step.

    Source: core src/model_config_utils.cc, ValidateModelConfig and ValidateEnsembleConfig.
    """
    for model in repository.models.values():
        steps = model.config.ensemble_scheduling.step
        if not model.is_ensemble:
            if steps and model.config.platform:
                yield (
                    model.at("ensemble_scheduling"),
                    f'stands in a model of platform "{model.config.platform}": remove one of them',
                )
            continue
        if not steps:
            yield (
                model.at("ensemble_scheduling"),
                "an ensemble needs ensemble_scheduling with at least one step",
            )
        for index, step in enumerate(steps):
            path = ("ensemble_scheduling", "step", index)
            if not step.model_name:
                yield model.at(*path), "a step has no model_name"
                continue
            if not step.input_map:
                yield model.at(*path), f'step "{step.model_name}" has no input_map'
            if not step.output_map:
                yield model.at(*path), f'step "{step.model_name}" has no output_map'
            used = repository.models.get(step.model_name)
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
