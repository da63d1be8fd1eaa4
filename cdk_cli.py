"""The pinned cdk CLI, and what whoever waits for it sees.

On a terminal that is a live table: each stack, how many of its resources are done, and what is in
progress; elsewhere one line an event, as it comes. What failed is told in CloudFormation's words.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

CLI = Path(__file__).parent / "node_modules" / ".bin" / "cdk"

CANCELLED = ("Resource creation cancelled", "Resource update cancelled")
"""What happens to the resources beside the one that failed."""

_EVENT = re.compile(
    r"(?P<stack>\S+) \| (?: *(?P<done>\d+)(?:/(?P<total>\d+))? \| )?[^|]+ "
    r"\| (?P<status>[A-Z_]+)[^|]*\| \S+ *\| (?P<resource>\S+)(?: \(\w+\))? ?(?P<reason>.*)"
)
"""A line of the CLI's HistoryActivityPrinter (lib/index.js of aws-cdk 2.1148.1)."""
_NOISE = re.compile(
    r"\s*$|\s+at |Logs: /aws/|(\S+: )?(start|success): |✨|Outputs:|Stack ARN:|arn:|\S+\.\w+ = "
    r"|.*: Subprocess exited with error"
)
_CUSTOM = re.compile(
    r"^Received response status \[FAILED\] from custom resource\. Message returned: "
)
_SHOWN = 2
"""Resources in progress that a row names."""
_FAILURE_LINES = 15
"""The most that is told of a run that failed without an event, such as a synth."""


@dataclass(frozen=True)
class Result:
    """How a run of the CLI ended: whether it did what it was asked, and if not, why."""

    succeeded: bool
    reasons: tuple[str, ...]


def run(
    *arguments: str,
    title: str,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    log: Path | None = None,
    building: Callable[[], str] = str,
) -> Result:
    """Run the CLI, and show what it does; `log` gets all that it says.

    `title` stands above the table, with the seconds that it took until now. `building` tells what
    builds do right now. An interruption ends the CLI, which begins no other stack: CloudFormation
    goes on with what was begun. Raises `OSError` where the CLI cannot be started.
    """
    told = _Told()
    with ExitStack() as opened:
        kept = opened.enter_context(log.open("w")) if log else None
        process = opened.enter_context(
            _started(
                arguments,
                env={**os.environ, **(environment or {}), "CI": "1"},  # CI: events go to stdout
                cwd=cwd,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        )
        show = opened.enter_context(_shown(told, title, building))
        assert process.stdout is not None
        for line in process.stdout:
            if kept:
                kept.write(line)
            show(told.read(line.rstrip()))
    failed = process.returncode != 0
    return Result(not failed, tuple(told.failures or told.rest[-_FAILURE_LINES:]) if failed else ())


def run_in_its_words(*arguments: str) -> int:
    """Run the CLI, which prints what it likes; return its exit code."""
    with _started(arguments) as process:
        return process.wait()


@contextmanager
def _started(arguments: Sequence[str], **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """Start the CLI; leave when it has ended.

    It is in a process group of its own: an interruption ends the group, which has the program that
    starts Node.js, Node.js, and the app, and none of them says a word of it.
    """
    with subprocess.Popen(
        [str(CLI), *arguments], stdin=subprocess.DEVNULL, process_group=0, **options
    ) as process:
        try:
            yield process
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise


def useful(reason: str) -> str:
    """Return the sentence of CloudFormation's reason: without the stack of who answered for it.

    The CDK's provider framework answers with its error's stack, after an empty line (framework.js
    of aws-cdk-lib's custom-resources).
    """
    first = _CUSTOM.sub("", reason.strip()).partition("\n\n")[0]
    return re.sub(r" \(RequestId: [^)]*\)$", "", " ".join(first.split())).removeprefix("Error: ")


@dataclass
class _Stack:
    """How far a stack is; `at_work` has when each resource began, by `time.monotonic`."""

    done: str = ""
    status: str = ""
    at_work: dict[str, float] = field(default_factory=dict)
    over: set[tuple[str, str]] = field(default_factory=set)

    def see(self, event: "re.Match[str]") -> bool:
        """Take an event in; return whether it is news. Those of one moment come in any order."""
        if event["done"]:
            self.done = "/".join(filter(None, (event["done"], event["total"])))
        if event["resource"] == event["stack"]:
            news = self.status != event["status"]
            self.status = event["status"]
            if news and self.status.endswith("ROLLBACK_IN_PROGRESS"):
                self.over.clear()  # what was changed is changed back
            return news
        name = _short(event["resource"])
        change = event["status"].partition("_")[0]
        if not event["status"].endswith("_IN_PROGRESS"):
            self.over.add((name, change))
            self.at_work.pop(name, None)
            return True
        if (name, change) in self.over or name in self.at_work:
            return False
        self.at_work[name] = time.monotonic()
        return True

    def now(self) -> str:
        """Return what it does: what is in progress the longest comes first."""
        if self.status.endswith("_COMPLETE"):
            return self.status.lower().replace("_", " ")
        names = [f"{name} ({_seconds(since)})" for name, since in self.at_work.items()]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        back = "rolling back: " if "ROLLBACK" in self.status else ""
        return f"{back}{', '.join(names[:_SHOWN])}{more}"


class _Told:
    """What the CLI has told: stacks by name, failures, and whatever was no event."""

    def __init__(self) -> None:
        self.stacks: dict[str, _Stack] = {}
        self.failures: list[str] = []
        self.rest: list[str] = []
        self._repeats = False

    def read(self, line: str) -> str:
        """Take a line in; return what a log should show of it, nothing for noise."""
        event = _EVENT.fullmatch(line)
        if event is None:
            self._repeats |= bool(self.failures) and line.startswith(("Failed resources:", "❌"))
            if self._repeats or _NOISE.match(line):
                return ""
            self.rest.append(line)
            return line if "Currently in progress" in line else ""
        self._repeats = False
        stack = self.stacks.setdefault(event["stack"], _Stack())
        news = stack.see(event)
        said = f"{event['stack']} {stack.done} {event['status']} {_short(event['resource'])}"
        if not event["status"].endswith("_FAILED") or event["reason"].startswith(CANCELLED):
            return said if news else ""
        failure = f"{event['stack']}, {_short(event['resource'])}: {useful(event['reason'])}"
        if failure in self.failures:
            return ""
        self.failures.append(failure)
        return f"{said}: {useful(event['reason'])}"


@contextmanager
def _shown(told: _Told, title: str, building: Callable[[], str]) -> Iterator[Callable[[str], None]]:
    """Give a function that takes what each line told."""
    console = Console(highlight=False)
    if not console.is_terminal:
        yield lambda line: print(f"  {line}", flush=True) if line else None  # noqa: T201
        return
    began = time.monotonic()

    def shown() -> Group:
        rows = Table.grid(padding=(0, 2))
        for _ in range(2):
            rows.add_column(no_wrap=True)
        rows.add_column(no_wrap=True, overflow="ellipsis")
        for name, stack in told.stacks.items():
            rows.add_row(Text(f"  {name}"), stack.done, Text(stack.now()))
        if told.stacks and (line := building()):
            rows.add_row("", "", Text(line, style="dim"))
        return Group(Text(f"… {title} ({_seconds(began)})"), rows)

    with Live(get_renderable=shown, console=console, transient=True):
        yield lambda _: None


def _short(resource: str) -> str:
    """Return a construct's path without what the CDK itself appends."""
    return re.sub(r"(/Resource)?(/Default)?$", "", resource)


def _seconds(since: float) -> str:
    return f"{time.monotonic() - since:.0f} s"
