"""The cache of exported files on this machine."""

import hashlib
import importlib.metadata
import json
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import TypeAdapter, ValidationError

from model_build import digest
from model_build.export.step import Gates, RecipeStep, StepContext
from model_build.export.weights import CACHE
from model_build.gpu_step.files import sha256
from model_build.repository import CONFIG

FOLDER = CACHE / "exports"
RECIPE = "recipe.yaml"
MAX_EXPORTS = 20
"""Number of cached exports; the least recently used are deleted."""

_GATES = TypeAdapter(Gates)


def cached_export(
    step: RecipeStep, to: Path, context: StepContext, export: Callable[[], Gates]
) -> Gates:
    """Write the file `to` from the cache, or by `export`, and return its gates.

    The cache key consists of the step, the seed, the weights, the processor, the files in the
    model's folder outside of model directories, the installed packages and the builder's code. A
    damaged cached file is exported again.
    """
    folder = FOLDER / _cache_key(step, context)
    cached_file, report_file = folder / "file", folder / "gates.json"
    try:
        gates = _GATES.validate_json(report_file.read_bytes())
        shutil.copyfile(cached_file, to)
        if sha256(to) == (folder / "sha256").read_text():
            folder.touch()
            context.progress(f"{to.name} is the export of the same source, weights and packages")
            return gates
    except (OSError, ValidationError):
        pass
    gates = export()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=FOLDER, prefix=".new-") as scratch:
        new_folder = Path(scratch, "export")
        new_folder.mkdir()
        shutil.copyfile(to, new_folder / cached_file.name)
        (new_folder / report_file.name).write_bytes(_GATES.dump_json(gates))
        (new_folder / "sha256").write_text(sha256(to))
        shutil.rmtree(folder, ignore_errors=True)
        new_folder.rename(folder)
    for old_folder in sorted(FOLDER.glob("[0-9a-f]*"), key=lambda path: path.stat().st_mtime)[
        :-MAX_EXPORTS
    ]:
        shutil.rmtree(old_folder, ignore_errors=True)
    return gates


def _cache_key(step: RecipeStep, context: StepContext) -> str:
    folder = context.model_folder
    models = {path.parent for path in folder.glob(f"*/{CONFIG}")}
    inputs = [
        path
        for path in digest.model_files(folder)
        if path != folder / RECIPE and not models & {*path.parents}
    ]
    key_parts = {
        "step": step.model_dump(mode="json"),
        "seed": context.seed,
        "weights": context.weights and context.weights.name,  # a digest of their content
        "processor": context.target.processor,
        "files": {str(path.relative_to(folder)): sha256(path) for path in inputs},
        "builder": _builder_versions(),
    }
    return hashlib.sha256(json.dumps(key_parts, sort_keys=True).encode()).hexdigest()[:32]


@cache
def _builder_versions() -> dict[str, str]:
    """Return the versions of Python and all packages, and digests of the builder's code."""
    packages = {package.name: package.version for package in importlib.metadata.distributions()}
    package = Path(__file__).parents[1]
    code = {str(path.relative_to(package)): sha256(path) for path in package.rglob("*.py")}
    return {"python": sys.version, **packages, **code}
