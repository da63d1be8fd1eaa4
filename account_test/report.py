"""The report: the result of each check with the responses that prove it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from account_test.answers import Answer, Answers
from account_test.checks import checks
from account_test.scrubbing import scrub

FORMAT = 1


@dataclass(frozen=True)
class StepOutcome:
    """The result of a step; `problem` is empty if it succeeded."""

    step: str
    seconds: float
    problem: str = ""


def content(
    metadata: Mapping[str, Any],
    answers: Answers,
    outcomes: Sequence[StepOutcome],
    remaining: Sequence[str],
    secrets: Mapping[str, str],
) -> dict[str, Any]:
    """Return the report, without identifiers of accounts and persons.

    `metadata` describes the run, `remaining` are resources that could not be deleted, `secrets` are
    replacements for `scrub`. In the report, a check's `answers` are indexes into the `answers` of
    the report, which has only answers that a check uses.
    """
    used_answers: list[Answer] = []
    rows = []
    for check in checks():
        finding = check.decide(answers)
        used_answers += (answer for answer in finding.answers if answer not in used_answers)
        indexes = [used_answers.index(answer) for answer in finding.answers]
        evidence = " ".join(finding.evidence.split())
        row = {"result": finding.result, "evidence": evidence, "answers": indexes}
        rows.append({"id": check.id, "statement": check.statement, "step": check.step, **row})
    report: dict[str, Any] = {
        **{"format": FORMAT, "written": datetime.now(UTC), **metadata},
        **{"steps": list(map(asdict, outcomes)), "remaining": remaining},
        **{"checks": rows, "answers": list(map(asdict, used_answers))},
    }
    scrubbed: dict[str, Any] = scrub(report, secrets)
    return scrubbed


def write(path: Path, report: dict[str, Any]) -> Iterator[str]:
    """Write the report to `path`; yield a summary line for each check."""
    path.write_text(json.dumps(report, indent=1) + "\n")
    width = max(len(check["id"]) for check in report["checks"])
    for check in report["checks"]:
        yield f"{check['result']:12}  {check['id']:{width}}  {check['evidence']}"
