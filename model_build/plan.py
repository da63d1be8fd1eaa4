"""What synth must know of a model before it is built."""

from dataclasses import dataclass
from pathlib import Path

from model_build import written
from model_build.digest import LENGTH, digest_of
from model_build.manifest import Signature


@dataclass(frozen=True, kw_only=True)
class ModelPlan:
    """A checked model folder: its name, its digest, and what clients will send and get.

    `entry` is the Triton model in it that is served: the ensemble, or the only one.
    """

    folder: Path
    name: str
    digest: str
    entry: str
    signature: Signature

    @property
    def target_model(self) -> str:
        """The archive's file name, which is also the `TargetModel` of an invocation."""
        return f"{self.name}-{self.version}.tar.gz"

    @property
    def version(self) -> str:
        """The digest as it stands in names."""
        return self.digest[:LENGTH]


def plan_model(model_folder: Path) -> ModelPlan:
    """Check what people wrote in a model folder, and name what a build of it will be.

    Builds nothing and needs no network. Raises `checked_yaml.InvalidFile` or
    `RepositoryInvalid`, each with every finding at its file.
    """
    _, repository = written.read(model_folder)
    return ModelPlan(
        folder=model_folder,
        name=model_folder.name,
        digest=digest_of(model_folder),
        entry=repository.entry,
        signature=Signature.of(repository.configs[repository.entry]),
    )
