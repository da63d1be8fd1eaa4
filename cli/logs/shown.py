"""Events on a terminal, in a file, or as JSON."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.logs.lines import line
from cli.logs.tail import Event
from cli.names import short
from cli.printable import printable
from cli.times import on_the_clock

STYLES = {"warning": "yellow", "error": "red"}


def as_json(events: Iterable[Event]) -> None:
    """Print an object a line: time in UTC, stream, Triton's level, and the whole message."""
    for event in events:
        told = {
            "time": _time(event).isoformat(timespec="milliseconds"),
            "stream": event.stream,
            "level": line(event.message).level or None,
            "message": event.message,
        }
        print(json.dumps(told), flush=True)


def as_text(events: Iterable[Event], console: Console) -> None:
    """Print time, variant and instance, level and message; on a terminal, long ones are folded."""
    for event in events:
        said = line(event.message)
        text = printable(said.text)
        cells = on_the_clock(_time(event), datetime.now(UTC)), _source(event.stream), said.level
        if console.is_terminal:
            console.print(_row(cells, text, STYLES.get(said.level, "")))
        else:
            print(*filter(None, cells), text, flush=True)


def _row(cells: tuple[str, ...], text: str, style: str) -> Table:
    row = Table.grid(padding=(0, 1))
    for _ in cells:
        row.add_column(no_wrap=True)
    row.add_column(overflow="fold")
    row.add_row(*(Text(it, "dim") for it in cells[:-1]), Text(cells[-1], style), Text(text, style))
    return row


def _time(event: Event) -> datetime:
    return datetime.fromtimestamp(event.time / 1000, UTC)


def _source(stream: str) -> str:
    """Return a variant and the begin of an instance's id, or the begin of a build's."""
    before, slash, last = stream.rpartition("/")
    return f"{before}{slash}{short(last)}"
