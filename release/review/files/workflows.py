"""Workflows of GitHub: what sets them off, what they may do, and what they run."""

import re
from collections.abc import Iterator
from typing import Any, Literal

from release.review.files.file_change import FileChange, FileLine
from release.review.files.readers import read_yaml
from release.review.values import Steps, Unreadable, ValueDifference, differences, listed, text_of

FOLDER = ".github/workflows/"
STRANGERS = ("issue_comment", "pull_request_target", "workflow_run")
"""What strangers can set off, and that runs with the rights and secrets of the repository (GitHub
docs, "Events that trigger workflows"; zizmor, dangerous-triggers)."""
IGNORED = b"zizmor: ignore"
"""A comment that silences a finding (zizmor's documentation, "Ignoring results")."""
_LEVELS = {"none": 0, "read": 1, "write": 2}
_ALL = "all scopes"
_DEFAULT = "whatever the repository's settings say"
_SECRET = re.compile(r"\bsecrets\b[\w.\[\]'-]*")
_COMMIT = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")

Workflow = dict[Any, Any]


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield every field that differs, as a danger of its own where it weakens or widens something.

    `permissions` of a job take the place of the workflow's; what they leave out is none, and
    without any, the repository's settings decide (GitHub docs, "Workflow syntax", permissions). An
    `environment` is where people approve, and what the subject of a deploy's token names.
    """
    old, new = _read(change.before), _read(change.after)
    before, after = ((side or b"").count(IGNORED) for side in (change.before, change.after))
    if after > before:
        yield FileLine("zizmor, which lints workflows, ignores more", "weakened_checks")
    widened = list(_permissions(old, new))
    yield from widened
    known = _actions(change)
    for difference in differences(old, new):
        level, field = _field(difference.steps)
        text = str(difference)
        if field[:1] == ("permissions",) and level != "step":
            if not widened:
                yield FileLine(text, harmless=True)
        elif reason := _reason(difference, known, is_new=not old):
            yield FileLine(f"{text}: {reason}", "widened_workflows")
        else:
            yield FileLine(text, harmless=_is_harmless(difference))


def _read(content: bytes | None) -> Workflow:
    """Return a workflow in its long form, empty where there is none. `on` is true in YAML 1.1."""
    workflow = {} if content is None else read_yaml(content)
    if not isinstance(workflow, dict) or not isinstance(workflow.get("jobs") or {}, dict):
        raise Unreadable("is no workflow")
    workflow = {"on" if key is True else key: value for key, value in workflow.items()}
    events = workflow.get("on")
    if isinstance(events, str | list):
        workflow["on"] = {str(event): {} for event in listed(events)}
    elif isinstance(events, dict):
        workflow["on"] = {event: value or {} for event, value in events.items()}
    for job in _jobs(workflow).values():
        if "needs" in job:
            job["needs"] = listed(job["needs"])
    return workflow


def _field(steps: Steps) -> tuple[Literal["workflow", "job", "step"], Steps]:
    """Return what a field is of, and its steps there: names of jobs are no fields."""
    match steps:
        case ("jobs", _, "steps", _, *field):
            return "step", tuple(field)
        case ("jobs", _, *field):
            return "job", tuple(field)
    return "workflow", steps


def _reason(difference: ValueDifference, known: set[str], *, is_new: bool) -> str:
    """Return why a difference is a danger of its own, empty where it is none."""
    steps, _, before, after = difference
    level, field = _field(steps)
    if new := sorted({*_SECRET.findall(str(after))} - {*_SECRET.findall(str(before))}):
        return f"reads {', '.join(new)}"
    match level, field:
        case "workflow", ("on", event, *_) if event in STRANGERS and after is not None:
            return f"it is set off by {event}, with the repository's rights"
        case "workflow", ("on", *_) if not is_new:
            return "other events set it off"
        case "job", ("secrets", *_) if after is not None:
            return "hands secrets on"
        case _, ("uses",) if after is not None:
            return _of_action(str(after), known)
        case "job", ("needs", *_) if before is not None:
            return f"the job {steps[1]} no longer waits for {text_of(before)}"
        case "job", ("environment", *_) if before is not None:
            return f"the job {steps[1]} no longer runs in the environment {text_of(before)}"
        case _, ("continue-on-error",) if after not in (None, False):
            return "its failure no longer counts"
        case _, ("if",) if not is_new:
            return "runs under another condition"
    return ""


def _of_action(action: str, known: set[str]) -> str:
    name = action.partition("@")[0]
    if name not in known:
        return "an action that no workflow used"
    return "" if _COMMIT.fullmatch(action) else "not pinned to a commit"


def _is_harmless(difference: ValueDifference) -> bool:
    """Whether a field names something or gives it more time. A job's name is a required check."""
    level, field = _field(difference.steps)
    match field:
        case ("name",):
            return level != "job"
        case ("run-name",):
            return level == "workflow"
        case ("timeout-minutes",):
            times = (difference.before, difference.after)
            return all(isinstance(time, int) for time in times) and times[1] > times[0]
        case ("needs", *_):
            return level == "job" and difference.before is None
    return False


def _actions(change: FileChange) -> set[str]:
    """Return the actions that the base's workflows use."""
    uses = re.compile(rb"^[\s-]*uses:\s*([^@\s]+)@", re.MULTILINE)
    return {
        name.decode(errors="replace")
        for path, content in change.base.items()
        if path.startswith(FOLDER)
        for name in uses.findall(content)
    }


def _permissions(old: Workflow, new: Workflow) -> Iterator[FileLine]:
    """Yield every scope of a job that its token has more of; a new job is held against none."""
    jobs = _jobs(old)
    for name, job in _jobs(new).items():
        had = _scopes(old, jobs[name]) if name in jobs else {_ALL: 1}
        for scope, level in sorted(_scopes(new, job).items()):
            if level > max(had.get(scope, 0), had.get(_ALL, 0)):
                may = _DEFAULT if level > _LEVELS["write"] else f"{_word(level)} {scope}"
                yield FileLine(f"the token of the job {name} may now: {may}", "widened_workflows")


def _scopes(workflow: Workflow, job: Workflow) -> dict[str, int]:
    """Return scope -> level of a job's token; 3 where nothing is written, which may be anything."""
    permissions = job.get("permissions", workflow.get("permissions"))
    if permissions is None and "permissions" not in job and "permissions" not in workflow:
        return {_ALL: 3}
    if isinstance(permissions, dict):
        return {str(scope): _LEVELS.get(str(level), 2) for scope, level in permissions.items()}
    return {_ALL: _LEVELS["write" if permissions == "write-all" else "read"]} if permissions else {}


def _word(level: int) -> str:
    return next(word for word, known in _LEVELS.items() if known == level)


def _jobs(workflow: Workflow) -> dict[str, Workflow]:
    jobs = workflow.get("jobs") or {}
    return {str(name): job for name, job in jobs.items() if isinstance(job, dict)}
