"""Every model has the file that its backend opens."""

import os
from collections.abc import Iterator

from model_build.findings import Place
from model_build.model_config import BACKEND_FILES, model_file
from model_build.repository import Model, Repository


def _no_version(model: Model) -> tuple[Place, str]:
    file = model_file(model.config)
    if (model.directory / "1").is_dir():
        return model.file("1"), f"is empty: put {file} there"
    return model.file(), f"has no version: add a folder 1/ with {file}"


def version_files(repository: Repository) -> Iterator[tuple[Place, str]]:
    """Each model but an ensemble has a version folder, and each holds its backend's file."""
    for model in repository.models.values():
        if model.backend not in BACKEND_FILES:
            continue
        if not model.versions:
            yield _no_version(model)
        file = model_file(model.config)
        for version in model.versions:
            if not os.path.exists(model.directory / version / file):
                yield (
                    model.file(version, file),
                    f"is missing: the {model.backend} backend opens it",
                )
            # OpenVINO reads the weights from the file beside (docs.openvino.ai, Core.read_model)
            weights = f"{file.removesuffix('.xml')}.bin"
            if (
                model.backend == "openvino"
                and file.endswith(".xml")
                and not os.path.exists(model.directory / version / weights)
            ):
                yield (
                    model.file(version, weights),
                    f"is missing: OpenVINO reads the weights of {file} from it",
                )
