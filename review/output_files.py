"""The output files of a review: review.md for people, and review.json for programs."""

import json
import sys
from pathlib import Path

from pydantic_core import to_jsonable_python

from review import markdown
from review.escaping import printable
from review.report import ChangeReport
from review.summary import summary

MARKDOWN, JSON = "review.md", "review.json"
DANGER, INCOMPLETE = 3, 4
"""Exit codes: a danger is neither acknowledged nor advisory; not everything was reviewed."""


def remove_outputs(folder: Path) -> None:
    """Remove the files of an earlier review, which would remain if this review failed."""
    for name in (MARKDOWN, JSON):
        (folder / name).unlink(missing_ok=True)


def write_outputs(report: ChangeReport, folder: Path) -> int:
    """Write both files, print gaps and open dangers, and return the exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    text = markdown.render(report)  # JSON can have lone surrogates, UTF-8 cannot
    (folder / MARKDOWN).write_text(text, encoding="utf-8", errors="backslashreplace")
    (folder / JSON).write_text(to_json(report), encoding="utf-8")
    for gap in report.gaps:
        text = printable(f"error: not reviewed: {gap.part}: {gap.reason}")
        print(text, file=sys.stderr)  # noqa: T201
    for danger in report.open_dangers:
        text = f"danger: {printable(danger.message)}\n  {printable(danger.key)}"
        print(text, file=sys.stderr)  # noqa: T201
    if not report.is_complete:
        return INCOMPLETE
    return DANGER if report.open_dangers else 0


def to_json(report: ChangeReport) -> str:
    """Return a report as JSON, with its attributes as keys."""
    content = {"complete": report.is_complete, "summary": summary(report), **vars(report)}
    plain = to_jsonable_python(content, fallback=lambda _: None)  # functions become null
    return f"{json.dumps(plain, indent=2)}\n"
