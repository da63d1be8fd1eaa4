"""The files that a review leaves: review.md, review.json and review.html."""

from pathlib import Path

from release.review import as_json, markdown, page
from release.review.report import Report

FORMS = {"review.md": markdown, "review.json": as_json, "review.html": page}


def remove(folder: Path) -> None:
    """Remove an earlier review, so that nobody takes it for this one whatever becomes of it."""
    for name in FORMS:
        (folder / name).unlink(missing_ok=True)


def write(report: Report, folder: Path) -> None:
    """Write a report in every form."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, form in FORMS.items():
        (folder / name).write_text(form.render(report), encoding="utf-8")
