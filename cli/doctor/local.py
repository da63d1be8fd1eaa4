"""The local SageMaker: whether one runs, as the code on disk says, and what a dead one has left."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from cli.doctor.finding import Finding, ok, warning
from local_sagemaker import LOOPBACK, Folder, Running

CHECK = "local SageMaker"
AGAIN = "tritonsm down; tritonsm up"
SECONDS = 5


def findings(folder: Folder, root: Path) -> Iterator[Finding]:
    """Yield what was found of the one that this folder is of; its code is below `root`."""
    running = folder.running()
    if running is None:
        yield from _without(folder)
    else:
        yield _answers(running)
        yield _code(running, root / "local_sagemaker")


def _without(folder: Folder) -> Iterator[Finding]:
    left = sorted(_processes_in(folder.root))
    if left:
        found = f"none runs, but {len(left)} processes that one has left"
        yield warning(CHECK, found, f"kill {' '.join(map(str, left))}")
    else:
        yield ok(CHECK, "none runs: tritonsm up starts it")


def _answers(running: Running) -> Finding:
    try:
        with LOOPBACK.open(f"{running.url}/_ministack/health", timeout=SECONDS):
            return ok(CHECK, f"answers at {running.url}")
    except OSError as error:
        return warning(CHECK, f"process {running.pid} does not answer: {error}", AGAIN)


def _code(running: Running, code: Path) -> Finding:
    """Compare the process's age with that of the files: it has read them when it started."""
    check = f"{CHECK}'s code"
    started = running.began()
    changed = [it for it in code.rglob("*.py") if it.stat().st_mtime > started]
    if changed:
        newest = max(changed, key=lambda it: it.stat().st_mtime)
        found = f"{newest.relative_to(code.parent)} has changed since it was started"
        return warning(check, found, AGAIN)
    return ok(check, "as on disk")


def _processes_in(folder: Path) -> Iterator[int]:
    """Yield the processes that work in a folder, as every Triton of a local SageMaker does."""
    for process in Path("/proc").iterdir():
        with suppress(OSError):  # no process of ours, or one that has just ended
            if process.name.isdecimal() and (process / "cwd").readlink().is_relative_to(folder):
                yield int(process.name)
