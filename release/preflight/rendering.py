"""Rows as a table for people, and as JSON for programs."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

from release.preflight.rows import Row, Verdict

MARKS = {Verdict.OK: "✓", Verdict.REFUSED: "✗", Verdict.UNKNOWN: "?"}
WIDEST = 44
"""Characters of a subject that stands beside what is said of it; a longer one stands above."""


def table(rows: Sequence[Row]) -> str:
    """Return a block for each topic, a line a row, and the count of verdicts."""
    lines: list[str] = []
    for topic, of in groupby(rows, key=lambda it: it.topic):
        lines += [topic, *_block(list(of)), ""]
    return "\n".join([*lines, count(rows)])


def count(rows: Sequence[Row]) -> str:
    """Return the last line: how many rows have each verdict."""
    found = Counter(it.verdict for it in rows)
    return ", ".join(f"{found[it]} {it}" for it in Verdict)


def as_json(rows: Sequence[Row]) -> str:
    """Return `{"rows": [{"topic", "subject", "verdict", "said", "do"}], "count": {verdict: n}}`.

    All are texts but the counts; `verdict` is ok, refused or unknown.
    """
    found = Counter(str(it.verdict) for it in rows)
    content = {
        "rows": [asdict(it) for it in rows],
        "count": {str(it): found[it] for it in Verdict},
    }
    return json.dumps(content, indent=2, ensure_ascii=False)


def _block(rows: Sequence[Row]) -> list[str]:
    width = max((len(it.subject) for it in rows if len(it.subject) <= WIDEST), default=0)
    lines = []
    for row in rows:
        mark = f"  {MARKS[row.verdict]} "
        if len(row.subject) <= WIDEST:
            lines.append(f"{mark}{row.subject:{width}}  {row.said}".rstrip())
        else:
            lines += [f"{mark}{row.subject}", f"    {'':{width}}  {row.said}"]
        if row.do:
            lines.append(f"    {'':{width}}  → {row.do}")
    return lines
