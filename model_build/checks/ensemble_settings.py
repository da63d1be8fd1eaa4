"""Rules for the steps, batch sizes and versions of ensembles."""

from model_build.findings import Problems, warning
from model_build.repository import Repository

MAX_FOLDERS = 5
"""Folders of an archive above which Triton warns (server, src/sagemaker_server.cc, LoadModel)."""


def ensemble_settings(repository: Repository) -> Problems:
    """An ensemble has steps, and their models accept batches of the ensemble's size.

    Sources: core src/model_config_utils.cc (ValidateEnsembleSchedulingConfig),
    src/ensemble_scheduler/ensemble_utils.cc (ValidateEnsembleConfig).
    """
    for model in repository.models.values():
        if not model.is_ensemble:
            continue
        steps = model.config.ensemble_scheduling.step
        if not steps:
            yield (
                model.field_location("ensemble_scheduling"),
                "an ensemble needs ensemble_scheduling with at least one step",
            )
        for index, step in enumerate(steps):
            step_model = repository.models.get(step.model_name)
            step_limit = step_model.config.max_batch_size if step_model else 0
            if 0 < step_limit < model.config.max_batch_size:
                yield (
                    model.field_location("ensemble_scheduling", "step", index, "model_name"),
                    f'"{step.model_name}" takes batches up to {step_limit}, the ensemble up to '
                    f"{model.config.max_batch_size}: make them equal",
                )


@warning
def large_ensembles(repository: Repository) -> Problems:
    """An archive has at most five folders: a multi-model endpoint loads and unloads all at once.

    SageMaker waits up to 360 seconds for each (server, src/sagemaker_server.cc), and the memory of
    all steps is needed, or freed, together (developer guide, deploy-models-frameworks-triton).
    """
    models = repository.models.values()
    if len(models) > MAX_FOLDERS and any(model.is_ensemble for model in models):
        yield (
            repository.file_location(),
            f"{len(models)} models are loaded and unloaded together on a multi-model endpoint, and "
            f"Triton warns above {MAX_FOLDERS}: join steps, or serve the ensemble with hosting: "
            "single-model",
        )


def step_versions(repository: Repository) -> Problems:
    """A step names a version that its model has, or -1 for the latest."""
    for model in repository.models.values():
        for index, step in enumerate(model.config.ensemble_scheduling.step):
            step_model = repository.models.get(step.model_name)
            versions = step_model.versions if step_model else []
            if versions and step.model_version > 0 and str(step.model_version) not in versions:
                yield (
                    model.field_location("ensemble_scheduling", "step", index, "model_version"),
                    f"{step.model_name} has no version {step.model_version}, but "
                    f"{', '.join(versions)}: write model_version: -1, the latest",
                )
