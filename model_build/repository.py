"""A Triton model repository on disk: the directories that one archive holds."""

from dataclasses import dataclass
from pathlib import Path

from model_build import model_config
from model_build.model_config import ModelConfig

CONFIG = "config.pbtxt"


@dataclass(frozen=True)
class Repository:
    """The configurations below a folder: model directory -> what its config.pbtxt says."""

    folder: Path
    configs: dict[str, ModelConfig]

    @classmethod
    def read(cls, folder: Path) -> "Repository":
        """Read every model directory. Raises `RepositoryInvalid` where a config does not parse."""
        paths = sorted(folder.glob(f"*/{CONFIG}"))
        return cls(folder, {path.parent.name: model_config.read(path) for path in paths})

    @property
    def entry(self) -> str:
        """The directory that SageMaker serves under the archive's name.

        It is the one ensemble, or the only model. Triton's SageMaker front end chooses the same
        way (server src/sagemaker_server.cc). Raises `KeyError` where there is no such choice;
        `checks` says so in words.
        """
        ensembles = [name for name, config in self.configs.items() if is_ensemble(config)]
        candidates = ensembles or list(self.configs)
        if len(candidates) != 1:
            raise KeyError(f"{self.folder} has no one entry model: {candidates}")
        return candidates[0]


def is_ensemble(config: ModelConfig) -> bool:
    """Whether a configuration is an ensemble's, in the one spelling that SageMaker sees."""
    return bool(config.platform == "ensemble")
