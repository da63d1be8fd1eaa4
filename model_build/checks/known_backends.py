"""Every model has a backend that Triton's SageMaker images have."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.model_config import BACKEND_FILES, PLATFORM_BACKENDS
from model_build.repository import Model, Repository


def known_backends(repository: Repository) -> Iterator[tuple[Place, str]]:
    """`backend` is one that the images have, or `platform` names one; they do not disagree."""
    for model in repository.models.values():
        yield from _findings(model)


def _findings(model: Model) -> Iterator[tuple[Place, str]]:
    config = model.config
    offer = "write one of " + ", ".join(f'backend: "{name}"' for name in sorted(BACKEND_FILES))
    if config.backend == "ensemble" or (config.ensemble_scheduling.step and not config.platform):
        yield (
            model.at("backend" if config.backend else "ensemble_scheduling"),
            'write platform: "ensemble" (SageMaker\'s front end looks for exactly that and does '
            "not see other spellings)",
        )
    elif not config.backend and not config.platform:
        yield model.at(), f"names no backend: {offer}"
    elif config.platform and config.platform not in PLATFORM_BACKENDS:
        yield (
            model.at("platform"),
            f'"{config.platform}" is not a platform of Triton: remove it and {offer}',
        )
    elif config.backend and config.backend not in BACKEND_FILES:
        yield (
            model.at("backend"),
            f'"{config.backend}" is not a backend that SageMaker\'s Triton has: {offer}',
        )
    elif (
        config.backend and config.platform and PLATFORM_BACKENDS[config.platform] != config.backend
    ):
        yield (
            model.at("platform"),
            f'platform "{config.platform}" is not of backend "{config.backend}": remove platform',
        )
