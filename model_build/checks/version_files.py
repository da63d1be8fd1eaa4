"""Every model has the file that its backend opens."""

from collections.abc import Iterator

from model_build.model_config import ModelConfig
from model_build.repository import CONFIG, Repository, is_ensemble

DEFAULT_FILE = {
    "python": "model.py",
    "onnxruntime": "model.onnx",
    "pytorch": "model.pt",
    "tensorrt": "model.plan",
    "tensorflow": "model.graphdef",
    "dali": "model.dali",
}
PLATFORM_FILE = {"tensorflow_savedmodel": "model.savedmodel"}
"""Where a platform opens another file than its backend's default."""
PLATFORM_BACKEND = {
    "onnxruntime_onnx": "onnxruntime",
    "pytorch_libtorch": "pytorch",
    "tensorrt_plan": "tensorrt",
    "tensorflow_graphdef": "tensorflow",
    "tensorflow_savedmodel": "tensorflow",
}


def version_files(repository: Repository) -> Iterator[str]:
    """Each model has numeric version folders, and each holds its backend's file."""
    for directory, config in repository.configs.items():
        versions = repository.versions(directory)
        if not versions:
            yield f"{repository.named(directory)}: no version: add a folder 1/"
        if is_ensemble(config):
            continue
        file = _file(config)
        if file is None:
            yield (
                f'{repository.named(directory, CONFIG)}: backend "{backend(config)}" is none that '
                f"SageMaker's Triton has: write one of {', '.join(sorted(DEFAULT_FILE))}"
            )
            continue
        for version in versions:
            if not (repository.folder / directory / version / file).exists():
                yield (
                    f"{repository.named(directory, version, file)} is missing: the "
                    f"{backend(config)} backend opens it"
                )


def _file(config: ModelConfig) -> str | None:
    default = PLATFORM_FILE.get(config.platform) or DEFAULT_FILE.get(backend(config))
    return config.default_model_filename or default


def backend(config: ModelConfig) -> str:
    """Return the backend's name, also where a configuration gives the older `platform`."""
    return str(config.backend or PLATFORM_BACKEND.get(config.platform, config.platform))
