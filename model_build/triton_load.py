"""The load of a packed archive into a real Triton, before it is published.

The program `local_sagemaker.load_archive` does it: builds import nothing of the local SageMaker.
"""

import base64
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

import platform_facts
from model_build import archive, model_config
from model_build.build import Build
from model_build.errors import BuildError
from model_build.formats import BACKENDS
from model_build.manifest import LoadRecord, Signature
from model_build.progress import WARNING, Progress
from model_build.recipe import Copy
from model_build.repository import CONFIG, Repository
from model_build.target import BuildTarget
from model_build.triton_request import TritonRequest, request_of_zeros

PACKAGE = "local_sagemaker"
SECONDS = 900
"""Timeout of the program, which gives up a load after 360 s."""
CODE_SUFFIXES = ".pbtxt", ".py"
NEEDS_GPU = re.compile(r"cuda|nvidia|\bgpus?\b", re.IGNORECASE)
NATIVE_CODE = re.compile(r"\.cpython-(\d)(\d+)-.*\.so")
"""The file name of an extension module for one Python version (PEP 3149)."""

Load = Callable[[Build, Path, Progress], LoadRecord]
"""A function of a build and its archive. Raises `BuildError` if Triton does not load it."""


def skip_load(reason: str) -> Load:
    """Return a function that loads nothing, for a reason that the manifest then has."""

    def skip(_build: Build, _packed: Path, progress: Progress) -> LoadRecord:
        progress(f"not loaded into Triton: {reason}")
        return LoadRecord(not_loaded=reason)

    return skip


def load(build: Build, packed: Path, progress: Progress) -> LoadRecord:
    """Load an archive as a multi-model endpoint does, and send a request of zeros.

    Triton also runs the samples of `model_warmup`. For a GPU target, it loads the configurations
    for a CPU. The model may reject zeros: that is recorded, and is no error.
    """
    reason = obstacle(build.repository, skip=build.source.recipe.load_skip)
    spec = importlib.util.find_spec(PACKAGE)
    if reason is None and (spec is None or spec.origin is None):
        reason = f"{PACKAGE} is not installed"
    if reason or spec is None:
        return skip_load(str(reason))(build, packed, progress)
    start = time.monotonic()
    signature = Signature.from_config(build.repository.entry.config)
    request = (
        None
        if build.repository.is_decoupled
        else request_of_zeros(signature, is_stateful=build.repository.stateful is not None)
    )
    with TemporaryDirectory(prefix="load-") as scratch:
        served = Path(scratch, f"{build.name}{archive.SUFFIX}")
        if build.target.processor == "cpu":
            served.symlink_to(packed.resolve())
        else:
            _pack_for_cpu(build, Path(scratch, "repository"), served)
        report = _run(served, request, package=Path(str(spec.origin)).parent)
    limit: str | None = report.get("cannot_run") or _machine_limit(build, report)
    if limit:
        return skip_load(limit)(build, packed, progress)
    if "error" in report:
        raise BuildError(
            f"Triton {report['triton']} does not load {build.name}: {report['error']}\n  If only "
            "the Triton of builds cannot load it, write load: { skip: REASON } into recipe.yaml"
        )
    record = _record(build.repository, report)
    seconds = f"loaded into Triton {record.triton} in {time.monotonic() - start:.1f} s"
    if record.rejection:
        progress(f"{WARNING} {seconds}, which rejects a request of zeros: {record.rejection}")
    else:
        progress(seconds)
    return record


def load_once(load: Load) -> Load:
    """Return a function that loads only one of several archives with the same code.

    Such archives are built from one folder for one target, with the same steps, configurations and
    Python files, and differ only in copied weights and other data, whose files have the same names.
    The record of an archive that was not loaded itself names the model that was.
    """
    records = dict[str, tuple[str, LoadRecord]]()

    def load_first(build: Build, packed: Path, progress: Progress) -> LoadRecord:
        code = _code_digest(build)
        if code in records:
            name, record = records[code]
            progress(f"has the code of {name}, which was loaded into Triton: not loaded again")
            return record.model_copy(update={"through": name})
        record = load(build, packed, progress)
        if record.not_loaded is None:
            records[code] = build.name, record
        return record

    return load_first


def _code_digest(build: Build) -> str:
    """Return the SHA-256 of the code of a build, and of the names of its other files."""
    steps = {
        path: step.model_dump(mode="json")
        for path, step in build.source.files.items()
        if not isinstance(step, Copy)
    }
    text = json.dumps([str(build.source.folder), str(build.target), steps], sort_keys=True)
    digest = hashlib.sha256(text.encode())
    for path in sorted(path for path in build.folder.rglob("*") if path.is_file()):
        is_code = path.suffix in CODE_SUFFIXES
        content = hashlib.sha256(path.read_bytes()).hexdigest() if is_code else ""
        digest.update(f"\n{path.relative_to(build.folder)} {content}".encode())
    return digest.hexdigest()


def obstacle(repository: Repository, *, skip: str | None) -> str | None:
    """Return why the Triton of builds, on a CPU, cannot load a model; None if it can."""
    if skip:
        return skip
    for name, model in repository.models.items():
        format_ = BACKENDS.get(model.backend)
        if not model.is_ensemble and not (format_ and format_.loads_in_builds):
            return f"the Triton of builds has no backend {model.backend}, which {name} needs"
    return None


def _pack_for_cpu(build: Build, folder: Path, to: Path) -> None:
    """Pack the repository of a GPU target with configurations for a CPU."""
    copytree(build.folder, folder, copy_function=os.symlink)
    target = BuildTarget(release=build.target.release)
    for name, model in build.repository.models.items():
        config = model_config.adapt_to_target(model.config, target, backend=model.backend)
        (folder / name / CONFIG).unlink()
        model_config.write(config, folder / name / CONFIG)
    archive.pack(folder, to)


def _run(archive_path: Path, request: TritonRequest | None, *, package: Path) -> dict[str, Any]:
    """Return the report of the program, which gets none of the build's credentials."""
    content = request and {
        "body": base64.b64encode(request.body).decode(),
        "content_type": request.content_type,
    }
    environment = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
    search_path = [str(package.parent), *filter(None, [environment.get("PYTHONPATH")])]
    try:
        finished = subprocess.run(
            [sys.executable, "-m", f"{PACKAGE}.load_archive", str(archive_path)],
            env={**environment, "PYTHONPATH": os.pathsep.join(search_path)},
            input=json.dumps(content),
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"{archive_path.name}: Triton has not answered in {SECONDS} s") from None
    if finished.returncode:
        raise BuildError(f"the Triton of builds did not start: {finished.stderr.strip()[-1000:]}")
    report: dict[str, Any] = json.loads(finished.stdout)
    return report


def _machine_limit(build: Build, report: dict[str, Any]) -> str | None:
    """Return the reason if an error may be of this machine: it has no GPU, or another Python."""
    if "error" not in report:
        return None
    error = " ".join(str(report["error"]).split())
    if build.target.processor == "cuda" and NEEDS_GPU.search(error):
        return f"it needs a GPU: {error}"
    version = platform_facts.release(build.target.release).python or ""
    python = build.target.python or ".".join(version.split(".")[:2])
    natives = (NATIVE_CODE.search(path.name) for path in build.folder.rglob("*.so"))
    pythons = {f"{match[1]}.{match[2]}" for match in natives if match}
    has_environment = any(
        model_config.ENVIRONMENT in model.config.parameters
        for model in build.repository.models.values()
    )
    if python != report["python"] and (has_environment or pythons - {report["python"]}):
        return f"it has code for Python {python}, and builds have {report['python']}: {error}"
    return None


def _record(repository: Repository, report: dict[str, Any]) -> LoadRecord:
    answer = report.get("answer", {})
    used = {model.backend for model in repository.models.values()}
    return LoadRecord(
        triton=report["triton"],
        python=report["python"],
        isolation=report["isolation"],
        stand_ins={name: text for name, text in report["stand_ins"].items() if name in used},
        request="zeros" if "body" in answer else None,
        rejection=answer.get("error") and str(answer["error"]).splitlines()[0],
    )
