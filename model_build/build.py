"""A model's folder, turned into the archive that an endpoint loads."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from model_build import (
    archive,
    checks,
    digest,
    model_config,
    onnx_export,
    python_packages,
    torchscript_export,
    weights,
    written,
)
from model_build.gate import GateReport
from model_build.manifest import Manifest
from model_build.progress import Progress
from model_build.recipe import Copy, Onnx, PythonPackages, Recipe, Step, TorchScript
from model_build.repository import CONFIG, Repository, is_ensemble
from model_build.target import BuildTarget


@dataclass(frozen=True, kw_only=True)
class Build:
    """A finished build: the archive and what its manifest will say."""

    archive: archive.Archive
    manifest: Manifest


@contextmanager
def build(
    model_folder: Path,
    *,
    name: str,
    target: BuildTarget,
    python: str,
    progress: Progress,
) -> Iterator[Build]:
    """Build the archive of one model folder and keep it for the length of the `with` block.

    `name` is the model's. `python` is the Python version of the Triton image (`3.12`). Raises
    `checked_yaml.InvalidFile` for a broken recipe and `BuildError` for everything else that a
    model can be wrong about; whatever happens, no file is left behind but the cache.
    """
    plan, by_hand = written.read(model_folder)
    with TemporaryDirectory(prefix=f"build-{name}-") as scratch:
        folder = Path(scratch, "repository")
        _copy_written(by_hand, folder, target)
        fetched = None
        if plan.weights:
            fetched = weights.fetch(plan.weights, progress=progress)
        gates = _make_files(plan, model_folder, folder, fetched, python, progress)
        repository = Repository.read(folder, shown_as=Path())
        checks.check(repository, checks.BUILT)
        _unname_entry(repository)
        progress("packing")
        packed = archive.pack(folder, Path(scratch, "archive.tar.gz"))
        yield Build(
            archive=packed,
            manifest=Manifest.of(
                model=name,
                digest=digest.digest_of(model_folder),
                target=target,
                repository=repository,
                archive=packed,
                gates=gates,
            ),
        )


def _copy_written(by_hand: Repository, to: Path, target: BuildTarget) -> None:
    """Copy the model directories' files; each config.pbtxt is re-emitted for the target.

    Only what the digest counts is copied, so no empty folders; but an ensemble gets the version
    that Triton wants of it, though no file is in it.
    """
    for path in digest.files(by_hand.folder):
        relative = path.relative_to(by_hand.folder)
        if relative.parts[0] in by_hand.configs and path.name != "requirements.txt":
            (to / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to / relative)
    copied = Repository.read(to)
    for name, config in copied.configs.items():
        model_config.write(model_config.for_target(config, target), to / name / CONFIG)
        if is_ensemble(config) and not copied.versions(name):
            (to / name / "1").mkdir()


def _make_files(
    plan: Recipe,
    model_folder: Path,
    folder: Path,
    fetched: Path | None,
    python: str,
    progress: Progress,
) -> dict[str, GateReport]:
    gates = {}
    for name, step in plan.files.items():
        progress(f"making {name} ({step.to})")
        to = folder / name
        to.parent.mkdir(parents=True, exist_ok=True)
        report = _make(step, model_folder, fetched, to, python)
        if report:
            gates[name] = report
            progress(
                f"{name} differs from PyTorch by {report.max_absolute_difference:.1e} at most "
                f"({report.allowed:.0e} allowed)"
            )
    return gates


def _make(
    step: Step, model_folder: Path, fetched: Path | None, to: Path, python: str
) -> GateReport | None:
    match step:
        case Copy():
            shutil.copyfile((fetched or model_folder) / step.weights, to)
        case PythonPackages():
            python_packages.install(model_folder / step.requirements, to=to, python=python)
        case Onnx():
            return onnx_export.export(step, model_folder=model_folder, weights=fetched, to=to)
        case TorchScript():
            return torchscript_export.export(
                step, model_folder=model_folder, weights=fetched, to=to
            )
    return None


def _unname_entry(repository: Repository) -> None:
    """SageMaker's Triton names the served model after the archive, so its config names none."""
    config = repository.configs[repository.entry]
    config.ClearField("name")
    model_config.write(config, repository.folder / repository.entry / CONFIG)
