"""The release has the backends that a repository needs."""

from collections.abc import Iterator

import platform_facts
from model_build.findings import Place
from model_build.model_config import BACKEND_FILES
from model_build.repository import Repository


def release_backends(
    release: platform_facts.Release, repository: Repository
) -> Iterator[tuple[Place, str]]:
    """Every model's backend is in the release's image (platform_facts/releases.toml)."""
    for model in repository.models.values():
        if model.backend in BACKEND_FILES and model.backend not in release.backends:
            last = platform_facts.backend(model.backend).last_release
            yield (
                model.at("backend" if model.config.backend else "platform"),
                f"Triton {release.name} has no {model.backend} backend; {last} was the last with "
                "it: export the model as ONNX, or choose an older release",
            )
