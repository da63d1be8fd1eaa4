"""The findings of a preflight, and their rendering as a table and as JSON."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import groupby


class Verdict(StrEnum):
    """The result of a check.

    REFUSED: a deploy would fail. UNKNOWN: the check had no result, which stops no delivery.
    """

    OK = "ok"
    REFUSED = "refused"
    UNKNOWN = "unknown"


MARKS = {Verdict.OK: "✓", Verdict.REFUSED: "✗", Verdict.UNKNOWN: "?"}


@dataclass(frozen=True)
class CheckFinding:
    """The result of a check for one subject; `fix` is empty if no fix is needed."""

    verdict: Verdict
    subject: str
    message: str
    fix: str = ""
    check: str = ""


def ok(subject: str, message: str, fix: str = "") -> CheckFinding:
    """Return a finding that does not stop a deploy."""
    return CheckFinding(Verdict.OK, subject, message, fix)


def refused(subject: str, message: str, fix: str) -> CheckFinding:
    """Return a finding that would make a deploy fail."""
    return CheckFinding(Verdict.REFUSED, subject, message, fix)


def unknown(subject: str, message: str, fix: str = "") -> CheckFinding:
    """Return a finding of a check without a result."""
    return CheckFinding(Verdict.UNKNOWN, subject, message, fix)


def table(findings: Sequence[CheckFinding]) -> str:
    """Return one block per check, one line per finding, and the number of each verdict."""
    lines: list[str] = []
    for check, group in groupby(findings, key=lambda finding: finding.check):
        lines.append(check)
        for finding in group:
            lines.append(f"  {MARKS[finding.verdict]} {finding.subject}: {finding.message}")
            if finding.fix:
                lines.append(f"    → {finding.fix}")
        lines.append("")
    counts = Counter(finding.verdict for finding in findings)
    return "\n".join([*lines, ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)])


def as_json(findings: Sequence[CheckFinding]) -> str:
    """Return `{"findings": [{"check", "subject", "verdict", "message", "fix"}]}`."""
    return json.dumps({"findings": list(map(asdict, findings))}, indent=2, ensure_ascii=False)
