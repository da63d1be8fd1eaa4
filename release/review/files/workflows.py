"""Changes of GitHub workflows: triggers, permissions and steps."""

import re
from collections.abc import Iterator, Mapping
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
ZIZMOR_IGNORE = b"zizmor: ignore"
"""A comment that suppresses a finding (zizmor's documentation, "Ignoring results")."""
_LEVELS = {"none": 0, "read": 1, "write": 2}
_REPOSITORY_LEVEL = 3
"""Stands for the level in the repository's settings, which can be any."""
_ALL_SCOPES = "all scopes"
_DANGEROUS_TEXTS = (
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
_PINNED_ACTION = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")

Workflow = dict[Any, Any]


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield every changed field, as a danger if it weakens checks or widens permissions.

    The `permissions` of a job replace those of the workflow; an omitted scope is `none`. Without
    both, the repository's settings apply (GitHub docs, "Workflow syntax", permissions). An
    `environment` requires approval, and is in the subject of the deployment's token.
    """
    old, new = _read(change.before), _read(change.after)
    old_count, new_count = (
        (side or b"").count(ZIZMOR_IGNORE) for side in (change.before, change.after)
    )
    if new_count > old_count:
        yield FileLine(
            "zizmor, which lints workflows, ignores more findings", rule="weakened_checks"
        )
    wider_permissions = list(_wider_permissions(old, new))
    yield from wider_permissions
    base_actions = _actions(change.base)
    for difference in value_differences(old, new):
        level, field = _split_field(difference.key_path)
        text = f"{'.'.join(map(str, difference.key_path))}: {_format_difference(difference)}"
        if field[:1] == ("permissions",) and level != "step":
            if not wider_permissions:
                yield FileLine(text, harmless=True)
        elif reason := _danger_reason(difference, base_actions, is_new=not old):
            yield FileLine(f"{text}: {reason}", rule="widened_workflows")
        else:
            yield FileLine(text, harmless=_is_harmless(difference))


def _format_difference(difference: ValueDifference) -> str:
    """Return both values, or only the changed lines if both are multi-line texts."""
    texts = [format_value(value) for value in (difference.before, difference.after)]
    if all("\n" in text.strip() for text in texts):
        texts = [" ".join(lines) or "none" for lines in changed_lines(*texts)]
    return format_change(*texts)


def _read(content: bytes | None) -> Workflow:
    """Return a workflow with `on` as an object and `needs` as lists, empty without content.

    Raise `Unreadable`. YAML 1.1 reads the key `on` as true.
    """
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


def _split_field(key_path: KeyPath) -> tuple[str, KeyPath]:
    """Return the level (`workflow`, `job` or `step`), and the field's path below this level."""
    match key_path:
        case ("jobs", _, "steps", _, *field):
            return "step", tuple(field)
        case ("jobs", _, *field):
            return "job", tuple(field)
    return "workflow", key_path


class _DangerousChange(NamedTuple):
    """A kind of change of a field that is a danger, and the reason.

    field: level (`workflow`, `job` or `step`) and path, as a pattern.
    kind: a `new` value, a `removed` value, or any `changed` value in an existing workflow.
    """

    field: str
    kind: Literal["new", "removed", "changed"]
    reason: str


_DANGEROUS_CHANGES = (
    *(
        _DangerousChange(f"workflow.on.{event}*", "new",
                         f"can be triggered by {event}, with the repository's permissions")
        for event in UNTRUSTED_EVENTS
    ),
    _DangerousChange("workflow.on.schedule", "removed", "no longer runs on a schedule"),
    _DangerousChange("workflow.on*", "changed", "is triggered by other events"),
    _DangerousChange("job.secrets*", "new", "gives secrets to another workflow"),
    _DangerousChange("job.needs*", "removed", "the job {job} no longer waits for {before}"),
    _DangerousChange("job.environment*", "removed",
                     "the job {job} no longer runs in the environment {before}"),
    _DangerousChange("*.continue-on-error", "new", "its failure is ignored"),
    _DangerousChange("*.if", "changed", "runs under another condition"),
    _DangerousChange("job.runs-on*", "changed", "runs on another machine"),
    _DangerousChange("job.container*", "new", "runs in another image"),
)  # fmt: skip

_HARMLESS_FIELDS = (
    *("workflow.name", "step.name", "workflow.run-name"),
    "workflow.on.schedule.*.cron",
)
"""Fields whose change is harmless. A job's name is not, because required checks refer to it."""


def _danger_reason(difference: ValueDifference, base_actions: set[str], *, is_new: bool) -> str:
    """Return why a difference is a danger, empty if it is not; `is_new` is for a new workflow."""
    key_path, _, before, after = difference
    level, field = _split_field(key_path)
    name = ".".join(map(str, (level, *field)))
    for field_pattern, reason, pattern in _DANGEROUS_TEXTS:
        new_texts = {*pattern.findall(str(after))} - {*pattern.findall(str(before))}
        if new_texts and fnmatchcase(name, field_pattern):
            return reason.format(", ".join(sorted(new_texts)))
    if _is_harmless(difference):
        return ""
    if field == ("uses",) and after is not None:
        return _action_reason(str(after), base_actions)
    kinds = {
        "new": after not in (None, False),
        "removed": before is not None,
        "changed": not is_new,
    }
    for dangerous in _DANGEROUS_CHANGES:
        if fnmatchcase(name, dangerous.field) and kinds[dangerous.kind]:
            job = key_path[1] if level == "job" else ""
            return dangerous.reason.format(job=job, before=format_value(before))
    return ""


def _action_reason(action: str, base_actions: set[str]) -> str:
    if action.partition("@")[0] not in base_actions:
        return "uses an action that no workflow used before"
    return "" if _PINNED_ACTION.fullmatch(action) else "not pinned to a commit"


def _is_harmless(difference: ValueDifference) -> bool:
    """Return whether a change only affects names, adds time, or makes a job wait for another."""
    key_path, _, before, after = difference
    level, field = _split_field(key_path)
    if field == ("timeout-minutes",):
        return isinstance(before, int) and isinstance(after, int) and after > before
    if (level, *field[:1]) == ("job", "needs") and before is None:
        return True
    name = ".".join(map(str, (level, *field)))
    is_schedule_count = name.endswith(".cron") and None in (before, after)
    is_harmless_field = any(fnmatchcase(name, pattern) for pattern in _HARMLESS_FIELDS)
    return is_harmless_field and not is_schedule_count


def _actions(files: Mapping[str, bytes]) -> set[str]:
    """Return the names of the actions in the workflows of `files`, without versions."""
    uses = re.compile(rb"^[\s-]*uses:\s*([^@\s]+)@", re.MULTILINE)
    return {
        name.decode(errors="replace")
        for path, content in files.items()
        if path.startswith(FOLDER)
        for name in uses.findall(content)
    }


def _wider_permissions(old: Workflow, new: Workflow) -> Iterator[FileLine]:
    """Yield every wider scope of a job's token; a new job may read all scopes."""
    old_jobs = _jobs(old)
    level_names = {level: name for name, level in _LEVELS.items()}
    for name, job in _jobs(new).items():
        old_levels = {_ALL_SCOPES: _LEVELS["read"]}
        if name in old_jobs:
            old_levels = _token_levels(old, old_jobs[name])
        for scope, level in sorted(_token_levels(new, job).items()):
            if level > max(old_levels.get(scope, 0), old_levels.get(_ALL_SCOPES, 0)):
                access = "the repository's default permissions"
                if level != _REPOSITORY_LEVEL:
                    access = f"{level_names[level]} {scope}"
                text = f"the token of the job {name} may now: {access}"
                yield FileLine(text, rule="widened_workflows")


def _token_levels(workflow: Workflow, job: Workflow) -> dict[str, int]:
    """Return scope -> level of a job's token."""
    permissions = job.get("permissions", workflow.get("permissions"))
    if permissions is None and "permissions" not in job and "permissions" not in workflow:
        return {_ALL_SCOPES: _REPOSITORY_LEVEL}
    if isinstance(permissions, dict):
        return {str(scope): _LEVELS.get(str(level), 2) for scope, level in permissions.items()}
    if not permissions:
        return {}
    return {_ALL_SCOPES: _LEVELS["write" if permissions == "write-all" else "read"]}


def _jobs(workflow: Workflow) -> dict[str, Workflow]:
    jobs = workflow.get("jobs") or {}
    return {str(name): job for name, job in jobs.items() if isinstance(job, dict)}
