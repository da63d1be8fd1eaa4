"""The load of a packed archive into a real Triton, before it is published.

The program `local_sagemaker.load_archive` does it: builds import nothing of the local SageMaker.
"""

import base64
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, Self

import platform_facts
from model_build import archive, model_config
from model_build.build import Build
from model_build.checked_model import load_obstacle
from model_build.errors import BuildError
from model_build.manifest import LoadRecord, Signature
from model_build.progress import WARNING, Progress
from model_build.repository import CONFIG, Repository
from model_build.source import ModelSource
from model_build.target import BuildTarget
from model_build.triton_request import decode, encode, zeros
from plan import golden
from plan.golden import Golden

PACKAGE = "local_sagemaker"
SECONDS = 900
"""Timeout of an answer of the program, which gives up a load after 360 s."""
MAX_LOADS = 25
"""Number of loads of one Triton: each Python model stays loaded, with a process of its own."""
MAX_DRAWN_ROWS = 20
NEEDS_GPU = re.compile(r"cuda|nvidia|\bgpus?\b", re.IGNORECASE)
NATIVE_CODE = re.compile(r"\.cpython-(\d)(\d+)-.*\.so")
"""The file name of an extension module for one Python version (PEP 3149)."""

Load = Callable[[Build, Path, Progress], LoadRecord]
"""A function of a build and its archive, with `BuildError` if Triton does not load it."""


def skip_load(reason: str) -> Load:
    """Return a function that loads nothing, for a reason that the manifest then has."""

    def skip(_build: Build, _packed: Path, progress: Progress) -> LoadRecord:
        progress(f"not loaded into Triton: {reason}")
        return LoadRecord(not_loaded=reason)

    return skip


@contextmanager
def loader(no_load: str | None) -> Iterator[Load]:
    """Yield the function that loads the archives of a run, or loads none for a reason.

    It loads them into one Triton if possible: a start takes longer than most loads.
    """
    if no_load is not None:
        yield skip_load(no_load)
        return
    with _Triton() as triton:
        yield triton.load


def load_drawn(load_archive: Load, models: Iterable[ModelSource]) -> Load:
    """Return a function that does not load all rows of a table among the `models` of a run.

    Rows mostly differ in data: of each distinct code and target, one row is loaded, and up to
    `MAX_DRAWN_ROWS` other rows, those with the first digests, which are as good as drawn by chance.
    The record of another row names the one that was loaded.
    """
    rows = sorted((model for model in models if model.is_row), key=lambda row: row.digest)
    drawn = {
        row
        for folder in {row.folder for row in rows}
        for row in [row for row in rows if row.folder == folder][:MAX_DRAWN_ROWS]
    }
    records = dict[tuple[Path, str, str], tuple[str, LoadRecord]]()

    def load_or_refer(build: Build, packed: Path, progress: Progress) -> LoadRecord:
        row = build.source
        code = row.folder, row.code, str(build.target)
        if not row.is_row or row in drawn or code not in records:
            record = load_archive(build, packed, progress)
            records.setdefault(code, (build.name, record))
            return record
        name, record = records[code]
        progress(f"has the code of {name}, which was loaded into Triton: not loaded")
        return record if record.not_loaded else record.model_copy(update={"through": name})

    return load_or_refer


class _Triton:
    """The program `local_sagemaker.load_archive`, which starts at the first load.

    After `MAX_LOADS`, and after an error, the next load starts it again.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._ending = ExitStack()
        self._folder, self._loads = Path(), 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    def load(self, build: Build, packed: Path, progress: Progress) -> LoadRecord:
        """Load an archive as a multi-model endpoint does, and send a request.

        The request is that of the golden file; without a golden file, its tensors are zeros. Triton
        also runs the samples of `model_warmup`. For a GPU target, it loads the configurations for a
        CPU. A model that rejects the request, or gives another answer than the golden file has, is
        no error, since deliveries compare answers too: it is a warning, and recorded.
        """
        reason = load_obstacle(build.repository, build.source.recipe)
        if reason is None and not _package():
            reason = f"{PACKAGE} is not installed"
        if reason:
            return skip_load(reason)(build, packed, progress)
        start = time.monotonic()
        sample = _golden(build)
        report = self._report(build, packed, sample)
        limit: str | None = report.get("cannot_run") or _machine_limit(build, report)
        if limit:
            return skip_load(limit)(build, packed, progress)
        if "error" in report:
            raise BuildError(
                f"Triton {report['triton']} does not load {build.name}: {report['error']}\n  If "
                "only the Triton of builds cannot load it, write load: { skip: REASON } into "
                "recipe.yaml"
            )
        record = _record(build.repository, report, sample)
        seconds = f"loaded into Triton {record.triton} in {time.monotonic() - start:.1f} s"
        request = f"the request of {golden.FILE}" if sample else "a request of zeros"
        if record.rejection:
            progress(f"{WARNING} {seconds}, which rejects {request}: {record.rejection}")
        elif record.differences:
            differences = "; ".join(record.differences)
            progress(f"{WARNING} {seconds}, other answer than in {golden.FILE}: {differences}")
        else:
            progress(seconds)
        return record

    def _report(self, build: Build, packed: Path, sample: Golden | None) -> dict[str, Any]:
        """Return the program's report about an archive."""
        if self._process is None or self._loads == MAX_LOADS:
            self._ending.close()
            self._start()
        self._loads += 1
        served = self._folder / str(self._loads) / f"{build.name}{archive.SUFFIX}"
        served.parent.mkdir()
        if build.target.processor == "cpu":
            served.symlink_to(packed.resolve())
        else:
            _pack_for_cpu(build, served.parent / "repository", served)
        signature = Signature.from_config(build.repository.entry.config)
        arrays = sample.arrays() if sample else zeros(signature)
        request = encode(signature, arrays, is_stateful=build.repository.stateful is not None)
        job = {
            "archive": str(served.relative_to(self._folder)),
            "request": None
            if build.repository.is_decoupled
            else {
                "body": base64.b64encode(request.body).decode(),
                "content_type": request.content_type,
            },
        }
        report = self._ask(json.dumps(job), build.name)
        rmtree(served.parent)  # Triton has loaded a copy
        if report.keys() & {"error", "cannot_run"}:
            self._ending.close()
        return report

    def _start(self) -> None:
        """Start the program, which gets none of the build's credentials."""
        environment = {
            name: text for name, text in os.environ.items() if not name.startswith("AWS_")
        }
        search_path = [str(_package()), *filter(None, [environment.get("PYTHONPATH")])]
        self._folder = Path(self._ending.enter_context(TemporaryDirectory(prefix="load-")))
        self._log = self._ending.enter_context(TemporaryFile("w+", errors="replace"))  # noqa: SIM115
        self._process = self._ending.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", f"{PACKAGE}.load_archive", str(self._folder)],
                env={**environment, "PYTHONPATH": os.pathsep.join(search_path)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                text=True,
            )
        )
        self._loads = 0
        self._ending.callback(self._forget, self._process)

    def _forget(self, process: "subprocess.Popen[str]") -> None:
        """Close the input of the program, which may have ended before it read it all."""
        self._process = None
        assert process.stdin
        with suppress(BrokenPipeError):
            process.stdin.close()

    def _ask(self, job: str, name: str) -> dict[str, Any]:
        """Send a line, and return the object of the answer."""
        process = self._process
        assert process
        assert process.stdin
        assert process.stdout
        timer, start = threading.Timer(SECONDS, process.kill), time.monotonic()
        timer.start()
        try:
            with suppress(BrokenPipeError):
                print(job, file=process.stdin, flush=True)
            line = process.stdout.readline()
        finally:
            timer.cancel()
        if line:
            report: dict[str, Any] = json.loads(line)
            return report
        code = process.wait()
        self._log.seek(0)
        text = self._log.read().strip()[-1000:]
        self._ending.close()
        if code == -signal.SIGKILL and time.monotonic() - start >= SECONDS:
            raise BuildError(f"{name}: Triton has not answered in {SECONDS} s")
        raise BuildError(f"the Triton of builds ended with code {code}: {text}")


def _package() -> Path | None:
    """Return the folder that has the local SageMaker's package, None if it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    return Path(spec.origin).parents[1] if spec and spec.origin else None


def _pack_for_cpu(build: Build, folder: Path, to: Path) -> None:
    """Pack the repository of a GPU target with configurations for a CPU."""
    copytree(build.folder, folder, copy_function=os.symlink)
    target = BuildTarget(release=build.target.release)
    for name, model in build.repository.models.items():
        config = model_config.adapt_to_target(model.config, target, backend=model.backend)
        (folder / name / CONFIG).unlink()
        model_config.write(config, folder / name / CONFIG)
    archive.pack(folder, to)


def _machine_limit(build: Build, report: dict[str, Any]) -> str | None:
    """Return the reason if an error may be of this machine: it has no GPU, or another Python."""
    if "error" not in report:
        return None
    error = " ".join(str(report["error"]).split())
    if build.target.processor == "cuda" and NEEDS_GPU.search(error):
        return f"it needs a GPU: {error}"
    version = platform_facts.release(build.target.release).python
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


def _golden(build: Build) -> Golden | None:
    """Return the golden file of a build's model, None without one or without inputs.

    Raise `BuildError` if it is invalid.
    """
    path = golden.golden_path(build.source.folder.parent, build.name)
    try:
        sample = Golden.read(path) if path else None
    except golden.InvalidGolden as error:
        raise BuildError(str(error)) from None
    return sample if sample and sample.inputs else None


def _record(repository: Repository, report: dict[str, Any], sample: Golden | None) -> LoadRecord:
    answer = report.get("answer", {})
    used = {model.backend for model in repository.models.values()}
    return LoadRecord(
        triton=report["triton"],
        python=report["python"],
        isolation=report["isolation"],
        stand_ins={name: text for name, text in report["stand_ins"].items() if name in used},
        request=(golden.FILE.as_posix() if sample else "zeros") if "body" in answer else None,
        differences=_differences(answer, sample) if sample and "body" in answer else (),
        rejection=answer.get("error") and str(answer["error"]).splitlines()[0],
    )


def _differences(answer: dict[str, str], sample: Golden) -> tuple[str, ...]:
    outputs = decode(base64.b64decode(answer["body"]), answer["content_type"])
    return tuple(sample.differences(outputs))
