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
    shown_as: Path | None = None
    """What findings call the folder, where its path would tell a reader nothing."""

    @classmethod
    def read(cls, folder: Path, *, shown_as: Path | None = None) -> "Repository":
        """Read every model directory. Raises `RepositoryInvalid` where a config does not parse."""
        paths = sorted(folder.glob(f"*/{CONFIG}"))
        configs = {path.parent.name: model_config.read(path) for path in paths}
        return cls(folder, configs, shown_as)

    def named(self, *parts: str) -> Path:
        """Return what findings call a path below the folder."""
        return (self.folder if self.shown_as is None else self.shown_as).joinpath(*parts)

    def versions(self, directory: str) -> list[str]:
        """Return the names of a model's version folders."""
        paths = sorted((self.folder / directory).iterdir())
        return [path.name for path in paths if path.is_dir() and path.name.isdigit()]

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
