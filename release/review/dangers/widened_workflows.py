"""Workflows of GitHub that may do more."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from release.review.dangers.found import Found
from release.tree import Tree

_FOLDER = Path(".github", "workflows")
_TRIGGERS = ("issue_comment", "pull_request_target", "workflow_run")
"""What strangers can set off, and that runs with the rights and secrets of the repository (GitHub
docs, "Events that trigger workflows"; zizmor, dangerous-triggers)."""
_LEVELS = {"none": 0, "read": 1, "write": 2}
_ALL = "all scopes"
_DEFAULT = "whatever the repository's settings say"

Workflow = dict[Any, Any]


def widened_workflows(before: Tree, after: Tree) -> Iterator[Found]:
    """A workflow, new or not, is set off by strangers, has a wider token, or asks nobody any more.

    `permissions` of a job take the place of the workflow's; what they leave out is none, and
    without any, the repository's settings decide (GitHub docs, "Workflow syntax", permissions). An
    `environment` is where people approve, and what the subject of a deploy's token names.
    """
    files = (after.root / _FOLDER).glob("*.y*ml")
    for path in sorted(files):
        old, new = _read(before.root / _FOLDER / path.name), _read(path)
        if old == new:
            continue
        for subject, said in (*_triggers(old, new), *_permissions(old, new), *_asked(old, new)):
            yield Found(
                f"{path.name}.{subject}",
                f"{path.name}: {said}",
                group=path.name,
                heading=f"the workflow {path.name} may do more, in {{count}} ways",
            )


def _read(path: Path) -> Workflow:
    """Return a workflow, nothing where there is none or no YAML: the linter says that."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, yaml.YAMLError):
        return {}
    return content if isinstance(content, dict) else {}


def _triggers(old: Workflow, new: Workflow) -> Iterator[tuple[str, str]]:
    for name in _TRIGGERS:
        if name in _events(new) and name not in _events(old):
            yield name, f"it is set off by {name}, with the repository's rights"


def _events(workflow: Workflow) -> set[str]:
    """Return what sets a workflow off; `on` is true in YAML 1.1."""
    events = workflow.get("on", workflow.get(True, ()))
    return {events} if isinstance(events, str) else set(events or ())


def _permissions(old: Workflow, new: Workflow) -> Iterator[tuple[str, str]]:
    """Yield every scope of a job that its token has more of; a new job is held against none."""
    jobs = _jobs(old)
    for name, job in _jobs(new).items():
        had = _scopes(old, jobs[name]) if name in jobs else {_ALL: 1}
        has = _scopes(new, job)
        for scope, level in sorted(has.items()):
            if level > max(had.get(scope, 0), had.get(_ALL, 0)):
                what = _DEFAULT if level > _LEVELS["write"] else f"{_word(level)} {scope}"
                yield f"{name}.{scope}.{level}", f"the token of the job {name} may now: {what}"


def _scopes(workflow: Workflow, job: Workflow) -> dict[str, int]:
    """Return scope -> level of a job's token; 3 where nothing is said, which may be anything."""
    said = job.get("permissions", workflow.get("permissions"))
    if said is None and "permissions" not in job and "permissions" not in workflow:
        return {_ALL: 3}
    if isinstance(said, str):
        return {_ALL: _LEVELS["write" if said == "write-all" else "read"]}
    return {str(scope): _LEVELS.get(str(level), 2) for scope, level in (said or {}).items()}


def _word(level: int) -> str:
    return next(word for word, it in _LEVELS.items() if it == level)


def _asked(old: Workflow, new: Workflow) -> Iterator[tuple[str, str]]:
    jobs = _jobs(new)
    for name, job in _jobs(old).items():
        was = job.get("environment")
        if was and name in jobs and jobs[name].get("environment") != was:
            yield f"{name}.environment", f"the job {name} no longer runs in the environment {was}"


def _jobs(workflow: Workflow) -> dict[str, Workflow]:
    jobs = workflow.get("jobs")
    found = jobs.items() if isinstance(jobs, dict) else ()
    return {str(name): job for name, job in found if isinstance(job, dict)}
