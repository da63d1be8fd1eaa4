"""One line a step: what it does, how long it took, and where to look when it fails."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StepFailed(Exception):
    """A step did not do its work; the message says what failed, where its log is, what to do."""


@contextmanager
def step(title: str) -> Iterator[None]:
    """Print `title`, count the seconds on a terminal, and close the line with the time taken."""
    start = time.monotonic()
    done = threading.Event()
    ticker = threading.Thread(target=_tick, args=(title, start, done), daemon=True)
    ticker.start()
    try:
        yield
    except BaseException:
        done.set()
        ticker.join()
        print(f"\r✗ {title}", flush=True)
        raise
    done.set()
    ticker.join()
    print(f"\r✓ {title} ({time.monotonic() - start:.1f} s)", flush=True)


def _tick(title: str, start: float, done: threading.Event) -> None:
    while sys.stdout.isatty() and not done.is_set():
        print(f"\r… {title} ({time.monotonic() - start:.0f} s)", end="", flush=True)
        done.wait(1)


def run(
    command: list[str],
    *,
    log: Path,
    environment: dict[str, str],
    advice: str,
    cwd: Path | None = None,
) -> None:
    """Run a program into a log file, in this folder or in `cwd`.

    Raises `StepFailed` with the log's end and `advice`.
    """
    with log.open("wb") as output:
        try:
            finished = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                cwd=cwd,
                check=False,
            )
        except OSError as error:
            raise StepFailed(
                f"{command[0]} cannot be started: {error.strerror}\n  What to do: {advice}"
            ) from error
    if finished.returncode:
        lines = log.read_text(errors="replace").splitlines()[-15:]
        tail = "\n".join(f"    {line}" for line in lines)
        raise StepFailed(
            f"{' '.join(command)} ended with status {finished.returncode}:\n{tail}\n"
            f"  Log: {log}\n  What to do: {advice}"
        )
