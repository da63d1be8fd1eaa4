"""Changes of GitHub workflows: triggers, permissions and steps."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

from release.review.files.file_change import FileChange, FileLine
from release.review.files.readers import read_yaml
from release.review.values import (
    KeyPath,
    Unreadable,
    ValueDifference,
    as_list,
    changed_lines,
    format_change,
    format_value,
    value_differences,
)

FOLDER = ".github/workflows/"
UNTRUSTED_EVENTS = ("issue_comment", "pull_request_target", "workflow_run")
"""Events that forks can trigger, and whose workflows run with the repository's token and secrets
(GitHub docs, "Events that trigger workflows"; zizmor, dangerous-triggers)."""
IGNORED = b"zizmor: ignore"
"""A comment that suppresses a finding (zizmor's documentation, "Ignoring results")."""
_LEVELS = {"none": 0, "read": 1, "write": 2}
_ALL = "all scopes"
_DEFAULT = "the repository's default permissions"
_TEXTS = (
    ("*", "reads {}", re.compile(r"\b(?:secrets|vars)\b[\w.\[\]'-]*")),
    ("*.run", "runs a downloaded script: {}",
     re.compile(r"\b(?:curl|wget)\b[^|\n]*\|\s*(?:sudo\s+)?\w*sh\b")),
    ("*.run", "sets environment variables of later steps: {}",
     re.compile(r"\bGITHUB_(?:ENV|PATH)\b")),
    ("*.run", "runs text that outsiders can write: {}",
     re.compile(r"\$\{\{[^}]*\b(?:inputs\b|github\.(?:head_ref\b|event\.(?!number\b|"
                r"pull_request\.(?:number|(?:head|base)\.sha)\b)))[^}]*\}\}")),
)  # fmt: skip
"""Field, reason and pattern of new texts that are a danger. Source of the event fields that
outsiders can write: GitHub docs, "Script injections"; zizmor, template-injection."""
_COMMIT = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")

Workflow = dict[Any, Any]


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield every changed field, as a danger if it weakens checks or widens permissions.

    The `permissions` of a job replace those of the workflow; an omitted scope is `none`. Without
    both, the repository's settings apply (GitHub docs, "Workflow syntax", permissions). An
    `environment` requires approval, and is in the subject of the deployment's token.
    """
    old, new = _read(change.before), _read(change.after)
    before, after = ((side or b"").count(IGNORED) for side in (change.before, change.after))
    if after > before:
        yield FileLine("zizmor, which lints workflows, ignores more", "weakened_checks")
    widened = list(_permissions(old, new))
    yield from widened
    known = _actions(change)
    for difference in value_differences(old, new):
        level, field = _field(difference.steps)
        text = f"{'.'.join(map(str, difference.steps))}: {_changed_lines(difference)}"
        if field[:1] == ("permissions",) and level != "step":
            if not widened:
                yield FileLine(text, harmless=True)
        elif reason := _danger_reason(difference, known, is_new=not old):
            yield FileLine(f"{text}: {reason}", "widened_workflows")
        else:
            yield FileLine(text, harmless=_is_harmless(difference))


def _changed_lines(difference: ValueDifference) -> str:
    """Return both values, or the changed lines of multi-line texts."""
    sides = [format_value(side) for side in (difference.before, difference.after)]
    if all("\n" in side.strip() for side in sides):
        sides = [" ".join(lines) or "none" for lines in changed_lines(*sides)]
    return format_change(*sides)


def _read(content: bytes | None) -> Workflow:
    """Return a workflow in its long form, empty without content. YAML 1.1 reads `on` as true."""
    workflow = {} if content is None else read_yaml(content)
    if not isinstance(workflow, dict) or not isinstance(workflow.get("jobs") or {}, dict):
        raise Unreadable("is not a workflow")
    workflow = {"on" if key is True else key: value for key, value in workflow.items()}
    events = workflow.get("on")
    if isinstance(events, str | list):
        workflow["on"] = {str(event): {} for event in as_list(events)}
    elif isinstance(events, dict):
        workflow["on"] = {event: value or {} for event, value in events.items()}
    for job in _jobs(workflow).values():
        if "needs" in job:
            job["needs"] = as_list(job["needs"])
    return workflow


def _field(steps: KeyPath) -> tuple[str, KeyPath]:
    """Return the level (`workflow`, `job` or `step`), and the field's path below it."""
    match steps:
        case ("jobs", _, "steps", _, *field):
            return "step", tuple(field)
        case ("jobs", _, *field):
            return "job", tuple(field)
    return "workflow", steps


class _Widening(NamedTuple):
    """A field whose change is a danger, and the reason.

    field: level (`workflow`, `job` or `step`) and path, as a pattern.
    change: a `new` value, a `removed` one, or any `changed` one in an existing workflow.
    """

    field: str
    change: Literal["new", "removed", "changed"]
    reason: str


_WIDENINGS = (
    *(
        _Widening(f"workflow.on.{event}*", "new",
                  f"can be triggered by {event}, with the repository's permissions")
        for event in UNTRUSTED_EVENTS
    ),
    _Widening("workflow.on.schedule", "removed", "no longer runs on a schedule"),
    _Widening("workflow.on*", "changed", "is triggered by other events"),
    _Widening("job.secrets*", "new", "passes secrets on"),
    _Widening("job.needs*", "removed", "the job {job} no longer waits for {before}"),
    _Widening("job.environment*", "removed",
              "the job {job} no longer runs in the environment {before}"),
    _Widening("*.continue-on-error", "new", "its failure is ignored"),
    _Widening("*.if", "changed", "runs under another condition"),
    _Widening("job.runs-on*", "changed", "runs on another machine"),
    _Widening("job.container*", "new", "runs in another image"),
)  # fmt: skip

_HARMLESS = ("workflow.name", "step.name", "workflow.run-name", "workflow.on.schedule.*.cron")
"""Fields whose change is harmless; a job's name is not, because required checks refer to it."""


def _danger_reason(difference: ValueDifference, known: set[str], *, is_new: bool) -> str:
    """Return the reason why a difference is a danger, empty if it is not a danger."""
    steps, _, before, after = difference
    level, field = _field(steps)
    name = ".".join(map(str, (level, *field)))
    for field_pattern, reason, pattern in _TEXTS:
        new = {*pattern.findall(str(after))} - {*pattern.findall(str(before))}
        if new and fnmatchcase(name, field_pattern):
            return reason.format(", ".join(sorted(new)))
    if _is_harmless(difference):
        return ""
    if field == ("uses",) and after is not None:
        return _action_reason(str(after), known)
    is_change = {
        "new": after not in (None, False),
        "removed": before is not None,
        "changed": not is_new,
    }
    for widening in _WIDENINGS:
        if fnmatchcase(name, widening.field) and is_change[widening.change]:
            job = steps[1] if level == "job" else ""
            return widening.reason.format(job=job, before=format_value(before))
    return ""


def _action_reason(action: str, known: set[str]) -> str:
    if action.partition("@")[0] not in known:
        return "uses an action that no workflow used before"
    return "" if _COMMIT.fullmatch(action) else "not pinned to a commit"


def _is_harmless(difference: ValueDifference) -> bool:
    """Return whether a change only affects names, adds time, or makes a job wait for another."""
    steps, _, before, after = difference
    level, field = _field(steps)
    if field == ("timeout-minutes",):
        return isinstance(before, int) and isinstance(after, int) and after > before
    waits = (level, *field[:1]) == ("job", "needs") and before is None
    name = ".".join(map(str, (level, *field)))
    is_time = name.endswith(".cron") and None in (before, after)
    return waits or (any(fnmatchcase(name, pattern) for pattern in _HARMLESS) and not is_time)


def _actions(change: FileChange) -> set[str]:
    """Return the actions in the base's workflows."""
    uses = re.compile(rb"^[\s-]*uses:\s*([^@\s]+)@", re.MULTILINE)
    return {
        name.decode(errors="replace")
        for path, content in change.base.items()
        if path.startswith(FOLDER)
        for name in uses.findall(content)
    }


def _permissions(old: Workflow, new: Workflow) -> Iterator[FileLine]:
    """Yield every wider scope of a job's token; a new job is compared with `read` for all."""
    jobs = _jobs(old)
    for name, job in _jobs(new).items():
        known = _scopes(old, jobs[name]) if name in jobs else {_ALL: 1}
        for scope, level in sorted(_scopes(new, job).items()):
            if level > max(known.get(scope, 0), known.get(_ALL, 0)):
                access = _DEFAULT if level > _LEVELS["write"] else f"{_level_name(level)} {scope}"
                text = f"the token of the job {name} may now: {access}"
                yield FileLine(text, "widened_workflows")


def _scopes(workflow: Workflow, job: Workflow) -> dict[str, int]:
    """Return scope -> level of a job's token; level 3 stands for the repository's settings."""
    permissions = job.get("permissions", workflow.get("permissions"))
    if permissions is None and "permissions" not in job and "permissions" not in workflow:
        return {_ALL: 3}
    if isinstance(permissions, dict):
        return {str(scope): _LEVELS.get(str(level), 2) for scope, level in permissions.items()}
    return {_ALL: _LEVELS["write" if permissions == "write-all" else "read"]} if permissions else {}


def _level_name(level: int) -> str:
    return next(name for name, number in _LEVELS.items() if number == level)


def _jobs(workflow: Workflow) -> dict[str, Workflow]:
    jobs = workflow.get("jobs") or {}
    return {str(name): job for name, job in jobs.items() if isinstance(job, dict)}
