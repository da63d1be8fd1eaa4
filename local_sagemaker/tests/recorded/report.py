"""Conversion of the responses of a run in an AWS account into steps of a table.

    python -m local_sagemaker.tests.recorded.report REPORT

REPORT is a JSON file with `answers`, which have `operation`, `request`, `date`, `response` and, for
an error, `error`. Preceding steps and sources must be added by hand.
"""

import json
import re
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

FIXED_WORDS = re.compile(r"[A-Z][A-Za-z]+|[A-Z]+(_[A-Z]+)+")
"""Values of enumerations, such as InService or UPDATE_COMPLETE."""


def steps(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps with a response of AWS, not those of other programs."""
    return [
        {
            "operation": answer["operation"],
            "case": answer["step"],
            "request": answer["request"],
            "source": ["", "", datetime.fromisoformat(answer["date"]).date()],
            "answer": dict(_rules(answer["error"] or answer["response"], "")),
        }
        for answer in report["answers"]
        if not answer["operation"].startswith("app:") and (answer["error"] or answer["response"])
    ]


def _rules(value: Any, member: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _rules(inner, f"{member}.{name}".lstrip("."))
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from _rules(inner, f"{member}[{number}]")
    elif not isinstance(value, str) or FIXED_WORDS.fullmatch(value):
        yield member, f"= {json.dumps(value)}"
    else:
        yield member, "time" if _is_time(value) else "text"


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


if __name__ == "__main__":
    rows = steps(json.loads(Path(sys.argv[1]).read_text()))
    yaml.safe_dump(rows, sys.stdout, sort_keys=False)
