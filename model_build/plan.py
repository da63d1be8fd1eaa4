"""The plan of a model: name, digest and signature, known before the build."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import platform_facts
from model_build import checks
from model_build.archive import file_name
from model_build.digest import VERSION_DIGITS, compute_digest
from model_build.engines.compatibility import compatibility_level
from model_build.errors import BuildError
from model_build.findings import Location
from model_build.formats.tensorrt import TensorRt
from model_build.manifest import Signature
from model_build.recipe import FILE
from model_build.source import ModelSource
from model_build.target import BuildTarget
from platform_facts import ComputeCapability


@dataclass(frozen=True, kw_only=True)
class ModelPlan:
    """A checked model with its name, digest and signature.

    `entry` is the Triton model that is served: the ensemble, or the only model. `alternative` is
    the alternative of the recipe, None for the model itself.
    """

    folder: Path
    alternative: str | None
    name: str
    digest: str
    entry: str
    signature: Signature
    engines: tuple[str, ...]
    """The files that TensorRT compiles for GPU targets."""
    is_stateful: bool = False
    """Whether responses depend on earlier requests of a sequence, whose state one instance has."""
    is_decoupled: bool = False
    """Whether a request can have any number of responses."""

    @property
    def folder_digest(self) -> str:
        """The digest of the folder, the same for all alternatives of its recipe."""
        return _folder_digest(self.folder) if self.alternative else self.digest

    def instance_warning(self, *, max_instances: int) -> str | None:
        """Return a warning about a stateful model on several instances, or None.

        SageMaker sends requests to any instance. Its stateful sessions (`SessionId`) pin one
        instance, but the container must create the session id (developer guide, "Stateful sessions
        with Amazon SageMaker AI models"), and Triton's front end (server, src/sagemaker_server.cc,
        up to v2.71.0) does not.
        """
        if not self.is_stateful or max_instances <= 1:
            return None
        return (
            f"{self.name} has sequence_batching, and the endpoint up to {max_instances} "
            "instances: the state of a sequence is on one instance, but SageMaker sends the "
            "sequence's requests to any. Serve the model on one instance, or send the state with "
            "each request"
        )

    def check_target(self, target: BuildTarget, *, builder: ComputeCapability | None) -> None:
        """Raise `BuildError` if the model cannot be built for `target`.

        `builder` is the compute capability of the GPU that compiles engines, None without a GPU.
        """
        checks.check_target(ModelSource(self.folder, self.alternative), target)
        if not self.engines or target.compute_capability is None:
            return
        location = f"{Location(self.folder / FILE)}: {', '.join(self.engines)}"
        if builder is None:
            raise BuildError(
                f"{location}: CodeBuild has no GPU in this region to compile an engine on: choose "
                "another region, or serve the model as ONNX or TorchScript, which need no engine"
            )
        target_gpu = ComputeCapability.parse(target.compute_capability)
        try:
            release = platform_facts.release(target.release)
            compatibility_level(builder_gpu=builder, target_gpu=target_gpu, release=release)
        except BuildError as error:
            raise BuildError(f"{location}: {error}") from None

    @property
    def target_model(self) -> str:
        """The archive's file name and the `TargetModel` of an invocation."""
        return file_name(self.name, self.version)

    @property
    def version(self) -> str:
        """The first digits of the digest."""
        return self.digest[:VERSION_DIGITS]


@cache
def _folder_digest(folder: Path) -> str:
    return compute_digest(folder)


def plan_model(model: ModelSource) -> ModelPlan:
    """Check a model's source and return its plan, without a build and without network access.

    Raises `checked_yaml.InvalidFile` or `RepositoryInvalid` with all findings.
    """
    repository = checks.read(model)
    return ModelPlan(
        folder=model.folder,
        alternative=model.alternative,
        name=model.name,
        digest=model.digest,
        entry=repository.entry.name,
        signature=Signature.from_config(repository.entry.config),
        is_stateful=repository.stateful is not None,
        is_decoupled=repository.is_decoupled,
        engines=tuple(path for path, step in model.files.items() if isinstance(step, TensorRt)),
    )
