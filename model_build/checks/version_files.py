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
PLATFORM_BACKEND = {
    "onnxruntime_onnx": "onnxruntime",
    "pytorch_libtorch": "pytorch",
    "tensorrt_plan": "tensorrt",
    "tensorflow_graphdef": "tensorflow",
}


def version_files(repository: Repository) -> Iterator[str]:
    """Each model has numeric version folders, and each holds its backend's file."""
    for directory, config in repository.configs.items():
        folder = repository.folder / directory
        versions = [path for path in folder.iterdir() if path.is_dir() and path.name.isdigit()]
        if not versions:
            yield f"{folder}: no version: add a folder 1/"
        if is_ensemble(config):
            continue
        file = config.default_model_filename or DEFAULT_FILE.get(backend(config))
        if file is None:
            yield (
                f'{folder / CONFIG}: backend "{backend(config)}" is none that SageMaker\'s Triton '
                f"has: write one of {', '.join(sorted(DEFAULT_FILE))}"
            )
            continue
        for version in versions:
            if not (version / file).exists():
                yield f"{version / file} is missing: the {backend(config)} backend opens it"


def backend(config: ModelConfig) -> str:
    """Return the backend's name, also where a configuration gives the older `platform`."""
    return str(config.backend or PLATFORM_BACKEND.get(config.platform, config.platform))
