"""The page transitions.md: the results of the deployments of every pair of states."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.transitions.deployments import BACK, FORWARD, Deployment
from tests.transitions.faults import FAULTS
from tests.transitions.pairs import BASES, CHANGES, Change, Pair
from tests.transitions.trials import Result, Verdict

PAGE = Path(__file__).with_name("transitions.md")

RULES = {
    "a scaled variant": "is registered for scaling",
    "variants' names": "would get other variants",
    "hosting": "would change between multi-model",
    "another model": "but another model",
    "archives": "could not find",
    "the stage's file": "single-model hosting takes one model",
}
"""Name of a rule -> a part of its error message."""

INTRODUCTION = """\
# Transitions

The effect of a change of a stage on the calls of its clients, including deployments that fail
half-way. The tests run each deployment in one process, with the synthesised templates, ministack's
CloudFormation, the update guard and check, and the local SageMaker with its Auto Scaling;
containers and builds are fakes (`pytest tests/transitions`; `make transitions` writes this
page). After every step a caller looks up its models in the catalog and invokes every instance that
might answer, also with the archives that it had looked up earlier. Scaled variants begin to scale
when an update ends, and are still scaling when CloudFormation continues. **No call failed, in
{deployments} deployments of {pairs} pairs of states.**

- **done**: the endpoint was updated, and resources that it no longer uses were deleted.
- **kept**: the stack was updated, and the endpoint needed no update.
- **refused**: nothing was changed. The rules:
{rules}

## One change

Results for six stages, as forward / back; one value if both are the same.
"""

TWO_CHANGES = """
## Two changes at once

Results for the stage with two variants. {done} pairs of changes were done in both directions.
Refused, as forward / back:
"""

FAILED_DEPLOYMENTS = """
## Failed deployments

Each deployment that can be done was also tested with each of these faults, if the deployment
reaches the failing step.

| Fault | deployments | all calls answered, state restored | repaired |
| --- | --- | --- | --- |
"""

NOTES = """
"By hand": CloudFormation's rollback fails, but no resource in service is deleted. The old state is
restored after the operator follows the message of the guard or check, and continues the rollback
(`aws cloudformation continue-update-rollback`). "Not needed": if only the update
policy changes, the live configuration is deployed again; if that fails, the endpoint keeps it and
the stack is updated.

If an instance type, or a GPU, and scaling change in one deployment, every rollback needs manual
steps: the variant is already registered for scaling, and SageMaker does not restore its old type
before `aws application-autoscaling deregister-scalable-target`. Three deployments avoid that.
"""


def report(results: Mapping[Pair, Mapping[Deployment, Result]]) -> str:
    """Return the page. Raise `ValueError` for a refused deployment without a known rule."""
    single = {
        pair: by_deployment for pair, by_deployment in results.items() if len(pair.changes) == 1
    }
    double = {
        pair: by_deployment for pair, by_deployment in results.items() if len(pair.changes) == 2
    }
    cells = {pair: _cell(by_deployment) for pair, by_deployment in double.items()}
    rules = {
        _rule(result.reason): result.reason
        for by_deployment in results.values()
        for (_, fault), result in by_deployment.items()
        if result.verdict in REFUSED_VERDICTS and not fault
    }
    lines = [
        INTRODUCTION.format(
            deployments=sum(map(len, results.values())),
            pairs=len(results),
            rules="\n".join(
                f"  - {name}: “{_error_message(rules[name])}”" for name in RULES if name in rules
            ),
        ),
        f"| Change | {' | '.join(BASES)} |",
        f"| --- |{' --- |' * len(BASES)}",
        *(_row(change, single) for change in CHANGES),
        TWO_CHANGES.format(done=sum(not cell.count("refused") for cell in cells.values())),
        *_refused_lines(cells),
        FAILED_DEPLOYMENTS + "\n".join(_fault_rows(results)),
        NOTES,
    ]
    return "\n".join(lines)


REFUSED_VERDICTS = (Verdict.REFUSED, Verdict.INVALID_STAGE)


def _row(change: Change, single: Mapping[Pair, Mapping[Deployment, Result]]) -> str:
    cells = {
        pair.base: _cell(by_deployment)
        for pair, by_deployment in single.items()
        if pair.changes == (change,)
    }
    return f"| {change.name} | {' | '.join(cells.get(base, '') for base in BASES)} |"


def _cell(by_deployment: Mapping[Deployment, Result]) -> str:
    messages = [
        _summary(by_deployment[direction, ""])
        for direction in (FORWARD, BACK)
        if (direction, "") in by_deployment
    ]
    return messages[0] if len(set(messages)) == 1 else " / ".join(messages)


def _summary(result: Result) -> str:
    match result.verdict:
        case Verdict.DONE:
            return "done"
        case Verdict.ENDPOINT_UNCHANGED:
            return "kept"
        case Verdict.REFUSED | Verdict.INVALID_STAGE:
            return f"refused: {_rule(result.reason)}"
    raise ValueError(f"{result.verdict}: {result.reason}")


def _rule(reason: str) -> str:
    for name, text in RULES.items():
        if text in reason:
            return name
    raise ValueError(f"no rule for: {reason}")


def _error_message(reason: str) -> str:
    """Return an error message without common parts and digests."""
    message = reason.partition("Value error, ")[2] or reason
    return re.sub("-[0-9a-f]{12}", "-DIGEST", message.removesuffix(" Nothing was changed."))


def _refused_lines(cells: Mapping[Pair, str]) -> Iterable[str]:
    result: dict[str, list[str]] = {}
    for pair, cell in cells.items():
        if "refused" in cell:
            first, second = pair.changes
            result.setdefault(cell, []).append(f"{first.name} + {second.name}")
    for cell, names in result.items():
        yield f"- **{cell}**: {'; '.join(names)}"


def _fault_rows(results: Mapping[Pair, Mapping[Deployment, Result]]) -> Iterable[str]:
    for name in FAULTS:
        counts = Counter(
            result.verdict
            for by_deployment in results.values()
            for (_, fault), result in by_deployment.items()
            if fault == name
        )
        repairs = {
            "automatically": counts[Verdict.ROLLED_BACK] + counts[Verdict.REFUSED],
            "by hand": counts[Verdict.CONTINUED],
            "not needed": counts[Verdict.DONE] + counts[Verdict.ENDPOINT_UNCHANGED],
        }
        text = ", ".join(f"{count} {repair}" for repair, count in repairs.items() if count)
        total = counts.total()
        yield f"| {name} | {total} | {total - counts[Verdict.WRONG]} | {text} |"
