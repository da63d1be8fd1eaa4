"""The report: the result of each check with the answers that prove it, to attach to an issue."""

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
    about: Mapping[str, Any],
    answers: Answers,
    outcomes: Sequence[StepOutcome],
    remaining: Sequence[str],
    secrets: Mapping[str, str],
) -> dict[str, Any]:
    """Return a report without what identifies an account or a person.

    `about` is what the run was, `remaining` what it could not delete, `secrets` as `scrub` has
    them. A check's `answers` are places in the list of answers.
    """
    used: list[Answer] = []
    rows = []
    for check in checks():
        finding = check.decide(answers)
        used += (answer for answer in finding.answers if answer not in used)
        places = [used.index(answer) for answer in finding.answers]
        evidence = " ".join(finding.evidence.split())
        row = {"result": finding.result, "evidence": evidence, "answers": places}
        rows.append({"id": check.id, "statement": check.statement, "step": check.step, **row})
    report: dict[str, Any] = {
        **{"format": FORMAT, "written": datetime.now(UTC), **about},
        **{"steps": list(map(asdict, outcomes)), "remaining": remaining},
        **{"checks": rows, "answers": list(map(asdict, used))},
    }
    scrubbed: dict[str, Any] = scrub(report, secrets)
    return scrubbed


def write(path: Path, report: dict[str, Any]) -> Iterator[str]:
    """Write a report; yield a line for each check."""
    path.write_text(json.dumps(report, indent=1) + "\n")
    width = max(len(check["id"]) for check in report["checks"])
    for check in report["checks"]:
        yield f"{check['result']:12}  {check['id']:{width}}  {check['evidence']}"
