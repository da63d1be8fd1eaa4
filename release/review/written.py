"""The files that a review leaves: review.md, review.json and review.html."""

import sys
from pathlib import Path

from release.review import as_json, markdown, page
from release.review.report import Report

FORMS = {"review.md": markdown, "review.json": as_json, "review.html": page}
DANGER = 3
INCOMPLETE = 4


def remove(folder: Path) -> None:
    """Remove an earlier review, so that nobody takes it for this one whatever becomes of it."""
    for name in FORMS:
        (folder / name).unlink(missing_ok=True)


def conclude(report: Report, folder: Path) -> int:
    """Write a report in every form, print what needs a person, and return the exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, form in FORMS.items():
        (folder / name).write_text(form.render(report), encoding="utf-8")
    for gap in report.gaps:
        print(f"error: not reviewed: {gap.what}: {gap.reason}", file=sys.stderr)  # noqa: T201
    for danger in report.open_dangers:
        print(f"danger: {danger.message}\n  {danger.key}", file=sys.stderr)  # noqa: T201
    for acknowledgement in report.unmatched:
        print(f"note: acknowledged, and no danger: {acknowledgement.danger}", file=sys.stderr)  # noqa: T201
    if not report.is_complete:
        return INCOMPLETE
    return DANGER if report.open_dangers else 0
