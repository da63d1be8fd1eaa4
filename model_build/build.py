"""A model, turned into the repository that its archive holds."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import platform_facts
from model_build import checks, digest, model_config, recipe
from model_build.archive import Archive
from model_build.declared_outputs import declared_outputs
from model_build.engines.provider import Engines
from model_build.export import weights
from model_build.export.gate import GateReport
from model_build.export.step import RecipeStep, StepContext, StepOutput
from model_build.export.steps import make
from model_build.findings import RepositoryInvalid
from model_build.gpu_step.result import JobResult
from model_build.manifest import BUILT_WITH, EngineOrigin, Manifest, Signature, Source
from model_build.progress import Progress
from model_build.repository import CONFIG, Repository
from model_build.source import ModelSource
from model_build.target import BuildTarget

_NOT_SERVED = ("requirements.txt",)
"""Files of model directories that only the builder reads."""


@dataclass(frozen=True, kw_only=True)
class Build:
    """A finished build: `folder` has the content of the archive."""

    source: ModelSource
    folder: Path
    repository: Repository
    name: str
    digest: str
    target: BuildTarget
    gates: dict[str, GateReport]
    engines: dict[str, JobResult]

    def manifest(
        self,
        archive: Archive,
        *,
        checksum: Mapping[str, str | int] = MappingProxyType({}),
        source: Source | None = None,
    ) -> Manifest:
        """Describe the build, once it is packed; `checksum` and `source` are the bucket's."""
        return Manifest(
            model=self.name,
            digest=self.digest,
            build_format=digest.BUILD_FORMAT,
            target={"processor": self.target.processor, **asdict(self.target)},
            archive={**asdict(archive), **checksum},
            signature=Signature.of(self.repository.entry.config),
            gates={name: report.manifest_entry() for name, report in self.gates.items()},
            engines={
                path: EngineOrigin(job=result.job, compiled_on=result.compiled_on)
                for path, result in self.engines.items()
            },
            built_with={name: metadata.version(name) for name in BUILT_WITH},
            source=source,
        )


@contextmanager
def build(
    model: ModelSource,
    *,
    name: str,
    target: BuildTarget,
    progress: Progress,
    engines: Engines,
) -> Iterator[Build]:
    """Build one model's repository and keep it for the length of the `with` block.

    `name` is the model's; `engines` has, or compiles, its TensorRT engines. Raises
    `checked_yaml.InvalidFile` for a broken recipe and `BuildError` for everything else that a model
    can be wrong about; whatever happens, no file is left behind but the caches.
    """
    by_hand = checks.read(model)
    checks.check_target(model, target)
    release = platform_facts.release(target.release)
    with TemporaryDirectory(prefix=f"build-{name}-") as scratch:
        folder = Path(scratch, "repository")
        made = dict(recipe.for_target(path, step, target) for path, step in model.files.items())
        _copy_written(by_hand, folder, target, _backends(made))
        context = StepContext(
            model_folder=model.folder,
            weights=weights.fetch(
                model.recipe.weights, model_folder=model.folder, progress=progress
            ),
            seed=model.recipe.seed,
            target=target,
            scratch=Path(scratch),
            progress=progress,
            engines=engines,
        )
        gates: dict[str, GateReport] = {}
        compiled: dict[str, JobResult] = {}
        for path, step in made.items():
            progress(f"making {path} ({step.to})")
            to = folder / path
            to.parent.mkdir(parents=True, exist_ok=True)
            file = make(step, to, context)
            gates |= {f"{path}: {what}": report for what, report in file.gates}
            _check_answers(by_hand, path, step, file)
            if file.engine:
                compiled[path] = file.engine
        repository = Repository.read(folder, shown_as=Path())
        checks.check(repository, checks.rules_for_release(release))
        _unname_entry(repository)
        yield Build(
            source=model,
            folder=folder,
            repository=repository,
            name=name,
            digest=model.digest,
            target=target,
            gates=gates,
            engines=compiled,
        )


def _backends(made: recipe.Files) -> dict[str, str]:
    """Model directory -> the backend whose file is made for it."""
    return {path.partition("/")[0]: step.backend for path, step in made.items() if step.backend}


def _check_answers(by_hand: Repository, path: str, step: RecipeStep, file: StepOutput) -> None:
    """Raise `RepositoryInvalid` where a made file answers otherwise than config.pbtxt declares."""
    model = by_hand.models[path.partition("/")[0]]
    findings = [
        finding
        for _, report in file.gates
        for answer in report.answers
        for finding in declared_outputs(model, answer, backend=step.backend)
    ]
    if findings:
        raise RepositoryInvalid(list(dict.fromkeys(findings)))


def _copy_written(
    by_hand: Repository, to: Path, target: BuildTarget, backends: dict[str, str]
) -> None:
    """Copy the model directories' files; each config.pbtxt is re-emitted for the target.

    Only what the digest counts is copied, so no empty folders; but an ensemble gets the folder of
    its version, which Triton wants though no file is in it.
    """
    for path in digest.files(by_hand.folder):
        relative = path.relative_to(by_hand.folder)
        if relative.parts[0] in by_hand.models and path.name not in _NOT_SERVED:
            (to / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to / relative)
    for name, model in Repository.read(to).models.items():
        config = model_config.for_target(
            model.config, target, backend=backends.get(name, model.backend)
        )
        model_config.write(config, to / name / CONFIG)
        if model.is_ensemble:
            for version in model.versions:
                (to / name / version).mkdir(exist_ok=True)


def _unname_entry(repository: Repository) -> None:
    """SageMaker's Triton names the served model after the archive, so its config names none."""
    config = repository.entry.config
    config.ClearField("name")
    model_config.write(config, repository.entry.directory / CONFIG)
