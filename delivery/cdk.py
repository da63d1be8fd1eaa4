"""The pinned CDK CLI, with progress output, and the commands that a delivery runs.

A terminal shows the newest line of each stack. Other outputs get a line for each stack, endpoint
and build of a model that is done, and all failures. With the variable `CI`, the CLI prints only
errors on stderr, including its diagnosis of a failed deployment.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import Any, NamedTuple

from botocore.exceptions import ClientError
from rich.console import Console
from rich.live import Live
from rich.text import Text

from delivery.errors import explain_error
from delivery.steps import say

CLI = Path(__file__).parents[1] / "node_modules" / ".bin" / "cdk"

EXECUTIONS_PER_STACK = 2
"""Concurrent Lambda executions of one stack's deploy: the CDK's provider and its handler.

The custom resources of an endpoint's stack depend on each other: builds, guard, check, catalog.
"""

_IGNORED_LINE = re.compile(r"\s*(at |Source Location:|\(no user code|$)|.*: Subprocess exited with")
"""Lines to omit: blank lines and stack traces."""
_UNLOGGED_LINE = re.compile(
    r": (start|success): (Buil|Publish)|"
    r"^(?!.*FAILED|.*ROLLBACK|.*_COMPLETE +\| "
    r"(AWS::CloudFormation::Stack|AWS::SageMaker::Endpoint|Custom::Triton\w+) ).* \| "
)
"""Lines that are not printed without a terminal: assets, and most events of resources."""


class CdkResult(NamedTuple):
    """The result of the CLI; `error_lines` is empty if it succeeded."""

    succeeded: bool
    error_lines: tuple[str, ...]


def run(
    *args: str,
    title: str,
    cwd: Path | None = None,
    build_status: Callable[[], str] = str,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> CdkResult:
    """Run the CLI, with `environment` added to that of this process, and show its progress.

    `build_status` returns a line about the build in progress, for a terminal. An interrupt
    terminates the CLI, which then starts no other stack; CloudFormation finishes operations in
    progress. Raise `OSError` if the CLI cannot be started.
    """
    env = {**os.environ, "CI": "1", **environment}
    options = {"cwd": cwd, "env": env, "text": True, "errors": "replace"}
    with (
        TemporaryFile("w+", errors="replace") as errors,
        _start_cli(args, **options, stdout=subprocess.PIPE, stderr=errors) as process,
        _progress_display(title, build_status) as show,
    ):
        for line in process.stdout or ():
            show(line.strip())
        failed = process.wait() != 0
        errors.seek(0)
        error_lines = [line.rstrip() for line in errors if failed and not _IGNORED_LINE.match(line)]
    return CdkResult(not failed, tuple(error_lines))


def run_directly(*args: str, environment: Mapping[str, str] = MappingProxyType({})) -> int:
    """Run the CLI with this process's output and an added `environment`; return its exit code."""
    with _start_cli(args, env={**os.environ, **environment}) as process:
        return process.wait()


@contextmanager
def _start_cli(args: Sequence[str], **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """Start the CLI and wait for its end.

    It has its own process group, so that an interrupt terminates the wrapper, Node.js and the app
    together, without tracebacks.
    """
    with subprocess.Popen(
        [str(CLI), *args], stdin=subprocess.DEVNULL, process_group=0, **options
    ) as process:
        try:
            yield process
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise


@contextmanager
def _progress_display(
    title: str, build_status: Callable[[], str]
) -> Iterator[Callable[[str], None]]:
    """Return a function that shows a line of the CLI."""
    console, newest_lines, start = Console(highlight=False), dict[str, str](), time.monotonic()

    def render() -> Text:
        seconds = f"{time.monotonic() - start:.0f} s"
        rows = (
            f"… {title} ({seconds})",
            *newest_lines.values(),
            build_status() if any(newest_lines) else "",
        )
        return Text("\n  ".join(filter(None, rows)))

    def show(line: str) -> None:
        if console.is_terminal:
            newest_lines[line.partition(" | ")[0] if " | " in line else ""] = " ".join(line.split())
        elif line and not _UNLOGGED_LINE.search(line):
            print(f"  {line}", flush=True)  # noqa: T201

    with Live(get_renderable=render, console=console, transient=True):
        yield show


def parallel_stacks(functions: Any, stacks: int) -> int:
    """Return how many of `stacks` stacks the account's Lambda quota allows to deploy in parallel.

    A new account may have 10 concurrent executions. The CDK's provider reports a throttled handler
    as a failed build. `functions` is a Lambda client.
    """
    try:
        quota = functions.get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    except ClientError as error:
        say(f"  ? quota of concurrent Lambda executions: {explain_error(error)}")
        return stacks
    allowed = max(1, min(stacks, int(quota) // EXECUTIONS_PER_STACK))
    if allowed < stacks:
        say(
            f"  the account allows {quota} concurrent Lambda executions: {allowed} of {stacks} "
            "stacks are deployed in parallel (Service Quotas, Lambda, Concurrent executions)"
        )
    return allowed


def deploy(
    assembly: Path, *stacks: str, concurrency: int = 1, exclusively: bool = False
) -> CdkResult:
    """Deploy stacks of an assembly, up to `concurrency` independent ones in parallel.

    With `exclusively`, do not deploy the stacks that they depend on. When one stack fails, the CLI
    waits for the stacks that it has started.
    """
    options = ["--concurrency", str(concurrency), "--require-approval", "never"]
    return _run("deploy", assembly, stacks, *options, *(["--exclusively"] * exclusively))


def publish_assets(assembly: Path, *stacks: str) -> CdkResult:
    """Upload the assets of stacks, as `deploy` does."""
    opt_in = "--unstable=publish-assets"
    return _run("publish-assets", assembly, stacks, "--exclusively", opt_in)


def _run(command: str, assembly: Path, stacks: tuple[str, ...], *options: str) -> CdkResult:
    title = f"cdk {command}: {', '.join(stacks)}"
    return run(command, *stacks, "--app", str(assembly), *options, title=title)
