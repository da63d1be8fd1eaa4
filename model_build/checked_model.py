"""A checked model: name, digest and signature, known before the build."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import platform_facts
from model_build import checks
from model_build.archive import file_name
from model_build.checks.backends import AWS_BACKENDS
from model_build.digest import VERSION_DIGITS
from model_build.engines.compatibility import compatibility_level
from model_build.errors import BuildError
from model_build.findings import Location
from model_build.formats import BACKENDS
from model_build.formats.tensorrt import TensorRt
from model_build.formats.torchscript import AOTI_PLATFORM
from model_build.manifest import Signature
from model_build.recipe import FILE, Recipe
from model_build.repository import Repository
from model_build.source import ModelSource
from model_build.target import BuildTarget
from platform_facts import ComputeCapability
from platform_facts.rules.catalog import ModelEntry, ModelSignature


@dataclass(frozen=True, kw_only=True)
class CheckedModel:
    """A checked model with its name, digest and signature.

    `entry` is the Triton model that is served: the ensemble, or the only model.
    """

    source: ModelSource
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
    steps: frozenset[str] = frozenset()
    """The folders of the archive beside the entry: the models of an ensemble's steps."""
    custom_metrics: tuple[str, ...] = ()
    """The Python models, by folder, that register metrics of their own."""
    load_obstacle: str | None = None
    """Why the Triton of builds does not load an archive without engines before it is published."""

    @property
    def folder(self) -> Path:
        """The model's folder."""
        return self.source.folder

    @property
    def alternative(self) -> str | None:
        """The alternative of the recipe, or the row of its table; None for the model itself."""
        return self.source.alternative

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

    def check_target(
        self,
        target: BuildTarget,
        *,
        builder: ComputeCapability | None,
        backends: Collection[str] | None = None,
    ) -> None:
        """Raise `BuildError` if the model cannot be built for `target`, or served.

        `builder` is the compute capability of the GPU that compiles engines, None without a GPU.
        `backends` are those of the endpoint's own image, None for AWS's image.
        """
        checks.check_target(self.source, target, AWS_BACKENDS if backends is None else backends)
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

    def catalog_entry(
        self, *, endpoint: str, target_model: str | None, component: str | None = None
    ) -> ModelEntry:
        """Return the catalog entry with which clients invoke the model at `endpoint`."""
        return ModelEntry(
            model=self.name,
            version=self.version,
            endpoint=endpoint,
            target_model=target_model,
            inference_component=component,
            signature=cast("ModelSignature", self.signature.model_dump()),
        )

    @property
    def target_model(self) -> str:
        """The archive's file name and the `TargetModel` of an invocation."""
        return file_name(self.name, self.version)

    @property
    def version(self) -> str:
        """The first digits of the digest."""
        return self.digest[:VERSION_DIGITS]


def check_model(model: ModelSource) -> CheckedModel:
    """Return a checked model, without a build and without network access.

    Raise `checked_yaml.InvalidFile` or `RepositoryInvalid` with all findings.
    """
    repository, same_code = checks.read(model), model.shared.checked_models
    if model.code not in same_code:
        same_code[model.code] = _checked_model(model, repository)
    checked: CheckedModel = same_code[model.code]
    return replace(checked, source=model, name=model.name, digest=model.digest)


def _checked_model(model: ModelSource, repository: Repository) -> CheckedModel:
    changed_backends = {
        path.partition("/")[0]: "onnxruntime" if isinstance(step, TensorRt) else step.backend
        for path, step in model.files.items()
        if step.backend
    }
    return CheckedModel(
        source=model,
        name=model.name,
        digest=model.digest,
        entry=repository.entry.name,
        signature=Signature.from_config(repository.entry.config),
        is_stateful=repository.stateful is not None,
        is_decoupled=repository.is_decoupled,
        engines=tuple(path for path, step in model.files.items() if isinstance(step, TensorRt)),
        steps=frozenset(repository.models) - {repository.entry.name},
        custom_metrics=tuple(
            name
            for name, folder in repository.models.items()
            if any("MetricFamily(" in path.read_text() for path in folder.directory.glob("*/*.py"))
        ),
        load_obstacle=load_obstacle(repository, model.recipe, changed_backends),
    )


def metrics_warnings(models: Iterable[CheckedModel]) -> Iterator[str]:
    """Yield what is lost when an endpoint publishes Triton's metrics of `models` to CloudWatch.

    Source: developer guide, deploy-models-frameworks-triton, "Metrics".
    """
    archives = defaultdict[str, list[str]](list)
    for model in models:
        for name in model.custom_metrics:
            yield (
                f"{model.name}/{name} registers custom metrics, which AWS's image does not "
                "publish: write them to the log instead (docs/stages.md, The server)"
            )
        for step in sorted(model.steps):
            archives[step].append(model.name)
    for step, names in archives.items():
        if len(names) > 1:
            yield (
                f"{', '.join(names)} have a folder {step} each, whose metrics Triton does not "
                "distinguish: rename the folders, in the steps of the ensembles too"
            )


def load_obstacle(
    repository: Repository, recipe: Recipe, changed_backends: dict[str, str] | None = None
) -> str | None:
    """Return why the Triton of builds, on a CPU, cannot load a model; None if it can.

    `changed_backends` is the backend that a build gives to a model directory.
    """
    if recipe.load_skip:
        return recipe.load_skip
    for name, backend in (repository.backends | (changed_backends or {})).items():
        if not (backend in BACKENDS and BACKENDS[backend].loads_in_builds):
            return f"the Triton of builds has no backend {backend}, which {name} needs"
        if backend == "pytorch" and repository.models[name].config.platform == AOTI_PLATFORM:
            return f"the Triton of builds loads no AOTInductor packages, such as that of {name}"
    return None
