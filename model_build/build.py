"""The build of a model repository from a model's source."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
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
from model_build.export.steps import run_step
from model_build.findings import RepositoryInvalid
from model_build.gpu_step.result import JobResult
from model_build.manifest import (
    BUILT_WITH,
    EngineOrigin,
    LoadRecord,
    Manifest,
    Signature,
    StoredSource,
)
from model_build.progress import Progress
from model_build.repository import CONFIG, Repository
from model_build.source import ModelSource
from model_build.target import BuildTarget

_BUILDER_FILES = ("requirements.txt",)
"""Files of model directories that only the builder reads: they stay out of the archive."""


@dataclass(frozen=True, kw_only=True)
class Build:
    """A finished build; `folder` is the model repository to pack."""

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
        load: LoadRecord,
        checksum: Mapping[str, str | int] = MappingProxyType({}),
        source: StoredSource | None = None,
    ) -> Manifest:
        """Return the manifest of the packed build.

        `load` is the archive's load into Triton, `checksum` its checksum in S3, `source` describes
        the source in the bucket.
        """
        return Manifest(
            model=self.name,
            digest=self.digest,
            build_format=digest.BUILD_FORMAT,
            target={"processor": self.target.processor, **asdict(self.target)},
            archive={**asdict(archive), **checksum},
            signature=Signature.from_config(self.repository.entry.config),
            gates={name: report.manifest_entry() for name, report in self.gates.items()},
            engines={
                path: EngineOrigin(
                    job=result.job,
                    compiled_on=result.compiled_on,
                    latency_ms=tuple(result.latency_ms),
                )
                for path, result in self.engines.items()
            },
            built_with=_versions(BUILT_WITH),
            load=load,
            source=source,
        )


@cache
def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    return {name: metadata.version(name) for name in packages}


@contextmanager
def build(
    model: ModelSource,
    *,
    name: str,
    target: BuildTarget,
    progress: Progress,
    engines: Engines,
) -> Iterator[Build]:
    """Build the model repository in a temporary folder, which exists during the `with` block.

    `name` is the model's name; `engines` provides its TensorRT engines. Raises
    `checked_yaml.InvalidFile` for an invalid recipe and `BuildError` for all other problems.
    """
    source_repository = checks.read(model)
    checks.check_target(model, target)
    for finding in checks.source_findings(model):
        progress(str(finding))
    release = platform_facts.release(target.release)
    with TemporaryDirectory(prefix=f"build-{name}-") as scratch:
        folder, source_folder = Path(scratch, "repository"), model.folder
        if model.is_row:
            source_folder = Path(scratch, "source")
            _link_files(model, source_folder)
            source_repository = Repository.read(source_folder, display_path=model.folder)
        steps = dict(
            recipe.step_for_target(path, step, target) for path, step in model.files.items()
        )
        copy_source_files(source_repository, folder, target, recipe.backends_by_directory(steps))
        context = StepContext(
            model_folder=source_folder,
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
        engine_results: dict[str, JobResult] = {}
        for path, step in steps.items():
            progress(f"making {path} ({step.to})")
            to = folder / path
            to.parent.mkdir(parents=True, exist_ok=True)
            output = run_step(step, to, context)
            gates |= {f"{path}: {title}": report for title, report in output.gates}
            _check_outputs(source_repository, path, step, output)
            if output.engine_job:
                engine_results[path] = output.engine_job
        repository = Repository.read(folder, display_path=Path())
        _check_built(repository, model, release)
        clear_entry_name(repository)
        yield Build(
            source=model,
            folder=folder,
            repository=repository,
            name=name,
            digest=model.digest,
            target=target,
            gates=gates,
            engines=engine_results,
        )


def _link_files(model: ModelSource, to: Path) -> None:
    """Link the files of a row, so that its steps see no files that its digest does not cover."""
    for path in model.covered_files:
        link = to / path.relative_to(model.folder)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path.absolute())


def _check_outputs(
    source_repository: Repository, path: str, step: RecipeStep, output: StepOutput
) -> None:
    """Raise `RepositoryInvalid` if a generated file's outputs differ from config.pbtxt."""
    model = source_repository.models[path.partition("/")[0]]
    findings = [
        finding
        for _, report in output.gates
        for outputs in report.output_tensors
        for finding in declared_outputs(model, outputs, backend=step.backend)
    ]
    if findings:
        raise RepositoryInvalid(list(dict.fromkeys(findings)))


def _check_built(
    repository: Repository, model: ModelSource, release: platform_facts.Release
) -> None:
    """Raise `RepositoryInvalid` for a built repository, with the row of a table."""
    try:
        checks.check(repository, checks.rules_for_release(release))
    except RepositoryInvalid as error:
        if not (model.is_row and (table := model.shared.table) and model.alternative):
            raise
        row = f"; it is {model.name}, {table.path}:{table.rows[model.alternative].line}"
        raise RepositoryInvalid(
            [replace(finding, message=f"{finding.message}{row}") for finding in error.findings]
        ) from None


def copy_source_files(
    source_repository: Repository, to: Path, target: BuildTarget, backends: dict[str, str]
) -> None:
    """Copy the files of the model directories and adapt each config.pbtxt to the target.

    Only files that the digest covers are copied. An ensemble gets an empty version folder, which
    Triton requires.
    """
    for path in digest.model_files(source_repository.folder):
        relative = path.relative_to(source_repository.folder)
        if relative.parts[0] in source_repository.models and path.name not in _BUILDER_FILES:
            (to / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to / relative)
    for name, model in Repository.read(to).models.items():
        config = model_config.adapt_to_target(
            model.config, target, backend=backends.get(name, model.backend)
        )
        model_config.write(config, to / name / CONFIG)
        if model.is_ensemble:
            for version in model.versions:
                (to / name / version).mkdir(exist_ok=True)


def clear_entry_name(repository: Repository) -> None:
    """Remove `name` from the entry model: SageMaker's Triton names the model after the archive."""
    config = repository.entry.config
    config.ClearField("name")
    model_config.write(config, repository.entry.directory / CONFIG)
