"""The invariants of GitHub workflows, and suppressed findings of zizmor.

zizmor, which `make lint` runs, and the owners of .github/ judge everything else in a workflow.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from review.amounts import unsafe_amount
from review.files.changed_code import ChangedFile
from review.files.readers import UNREADABLE, compared, read_yaml
from review.remark import NOTE, Remark
from review.shell_commands import command_remarks
from review.values import Unreadable, ValueDifference, as_list, first_names, value_differences

FOLDER = ".github/workflows/"
STRANGERS = {"issue_comment", "merge_group", "pull_request", "pull_request_target", "workflow_run"}
"""Events of changes that no one has approved, and events that forks can trigger (GitHub docs,
"Events that trigger workflows"; zizmor, dangerous-triggers)."""
WITH_TOKEN = {"pull_request_target", "workflow_run"}
"""Events that run with the token of the repository for a change of a fork."""
UNATTENDED = {"schedule", "workflow_dispatch"}
"""Events that run a job on a branch of the repository, without a change."""
RUNS_AFTER_FAILURES = "${{ !cancelled() }}"
"""The condition of a job that runs although a job that it needs has failed. GitHub counts a job
that was skipped as passed (GitHub docs, "Using conditions to control job execution")."""
ZIZMOR_IGNORE = b"zizmor: ignore"
"""A comment that suppresses a finding (zizmor's documentation, "Ignoring results")."""
_DELIVER = re.compile(r"\bdeliver\b")
_OVERRIDES = re.compile(
    r"\b(?:IGNORE_PREFLIGHT|ALLOW_OLDER|TAKE_OVER)(?==)"
    r"|--(?:ignore-preflight|allow-older|take-over)"
)
"""Options of a delivery that switch a check off."""
REVIEW = "review.judge"
"""The module that reviews a change."""
_MAKE = re.compile(r"\bmake\b([^\n;&|<>]*)")
"""A call of make with its arguments."""
_PINNED = re.compile(r"@[0-9a-f]{40}$|@sha256:[0-9a-f]{64}$")
_FOREIGN = re.compile(r"\$\{\{ *((?:github\.event\.|github\.head_ref|inputs\.)[\w.-]*) *\}\}")
"""Texts of an event in a command (zizmor, template-injection)."""
_OUTPUT = re.compile(r"\b(needs|steps)\.([\w-]+)\.(?:outputs\.([\w-]+))?")
"""A value of another job or step."""
_CONSTANTS = re.compile(r"\$\{\{ *(matrix|runner|vars)\.[\w.-]+ *\}\}")
"""Expressions whose values the workflow, the runner and the repository's settings contain."""

_PIPE = re.compile(r"'[^']*'|\"[^\"]*\"|\|\||(\|)")
"""A pipe of a shell, and texts that are none."""

AS_BEFORE = "each job has the same triggers, conditions, permissions and steps as before"

Workflow = dict[Any, Any]


def describe_workflows(
    files: Iterable[ChangedFile], base: Mapping[str, bytes], head: Mapping[str, bytes]
) -> Iterator[tuple[str, Remark]]:
    """Yield workflow and remark of each change, and of each invariant that changed files break.

    `files` are the changed files. An invariant of another workflow is of the first changed one.
    """
    changed = [file.path for file in files if file.path.startswith(FOLDER)]
    for path in changed:
        counts = [side.get(path, b"").count(ZIZMOR_IGNORE) for side in (base, head)]
        if counts[1] > counts[0]:
            text = "zizmor, which lints workflows, ignores more findings"
            yield path, Remark("weakened_checks", text)
        sides = base.get(path), head.get(path)
        for remark in compared(chain(_new_rights(*sides), _changed_values(*sides))):
            yield path, remark
    if changed:
        known = {*broken_invariants(base)}
        for path, remark in broken_invariants(head):
            if remark.rule == UNREADABLE or (path, remark) not in known:
                place = path if path in changed else changed[0]
                yield place, remark


def _named_jobs(names: Sequence[str]) -> str:
    """Return the start of a sentence about jobs, empty without a name."""
    return f"the job{'s' * (len(names) > 1)} {first_names(names)} " if any(names) else ""


def _new_rights(before: bytes | None, after: bytes | None) -> Iterator[Remark]:
    """Yield each new right of jobs."""
    old, new = ({*_rights(side or b"{}")} for side in (before, after))
    jobs_by_right: dict[str, list[str]] = {}
    for job, text in sorted(new - old):
        jobs_by_right.setdefault(text, []).append(job)
    for text, jobs in jobs_by_right.items():
        yield Remark("widened_workflows", f"{_named_jobs(jobs)}{text}")


def _changed_values(before: bytes | None, after: bytes | None) -> Iterator[Remark]:
    """Yield each changed value of a workflow.

    It is a danger if a job loses a command or a guard, or an amount that protects falls.
    """
    if before is None or after is None:
        return
    old, new = _read(before), _read(after)
    texts = ("\n".join(map(_commands, _jobs(side).values())) for side in (old, new))
    yield from command_remarks(*texts)
    for event in sorted(_events(old) - _events(new)):
        yield Remark("widened_workflows", f"it no longer runs on {event}")
    differences = [*value_differences(_comparable(old), _comparable(new), _is_whole)]
    if not differences:
        yield Remark(NOTE, AS_BEFORE)
    jobs_by_text: dict[str, list[str]] = {}
    for difference in differences:
        if difference.key_path[2:3] == ("permissions",):
            text = str(difference).partition(f"{difference.key_path[1]}.")[2]
            jobs_by_text.setdefault(text, []).append(str(difference.key_path[1]))
            continue
        text = re.sub(r"^True\b", "on", str(difference))
        is_lost_command = _is_lost_command(difference, new)
        if is_lost_command:
            text = f"the job {difference.key_path[1]} no longer runs: {difference.before}"
        if credentials := _credentials_of_other_code(difference, old, new):
            subject = f"the job {difference.key_path[1]} runs code of another commit"
            text = f"{subject}, with credentials ({credentials}): {text.rpartition('.with.')[2]}"
        is_lost = is_lost_command or bool(credentials) or _is_lost_guard(difference)
        falling = unsafe_amount(difference.path, difference.before, difference.after)
        yield falling or Remark("widened_workflows" if is_lost else NOTE, text)
    for text, jobs in jobs_by_text.items():
        yield Remark(NOTE, f"{_named_jobs(jobs)}{text}")


def _is_whole(path: str) -> bool:
    """Return whether a value is compared as a whole, as lists of names are."""
    return path.rpartition(".")[2] in ("branches", "needs", "paths", "tags", "types")


def _comparable(workflow: Workflow) -> Workflow:
    """Return a workflow with named steps, in any order, and a list of each step's commands.

    Each job has the permissions that it uses, its own or those of the workflow.
    """
    jobs = {}
    for name, job in _jobs(workflow).items():
        steps: dict[str, Workflow] = {}
        for step in _steps(job):
            command = _commands({"steps": step})
            title = str(step.get("uses", "")).partition("@")[0] or " ".join(command.split()[:3])
            while title in steps:
                title += "'"
            steps[title] = {**step, "run": command.splitlines()} if command else step
        jobs[name] = {**job, "steps": steps, "permissions": _permissions(workflow, job)}
    return {**workflow, "jobs": jobs, "permissions": None}


def _permissions(workflow: Workflow, job: Workflow) -> Any:
    """Return the permissions of a job, None for the default of the repository."""
    return job.get("permissions", workflow.get("permissions"))


def _is_lost_command(difference: ValueDifference, workflow: Workflow) -> bool:
    """Return whether a command is removed, and no other step of its job runs it.

    The commands of a removed job may be in another job.
    """
    match difference.key_path:
        case ("jobs", str(name), "steps", _, "run" | "uses", *_) if difference.after is None:
            jobs = _jobs(workflow)
            remaining = [jobs[name]] if name in jobs else jobs.values()
            texts = [f"{_commands(job)}\n{_actions(job)}" for job in remaining]
            return str(difference.before).partition("@")[0] not in "\n".join(texts)
    return False


def _is_lost_guard(difference: ValueDifference) -> bool:
    """Return whether a condition, an environment or a needed job of a job is another one."""
    before, after = difference.before, difference.after
    match difference.key_path:
        case ("jobs", _, "needs"):
            return not {*as_list(before or [])} <= {*as_list(after or [])}
        case ("jobs", _, "environment", *_) | ("jobs", *_, "if"):
            return before is not None or str(after).strip("${} ").lower() == "false"
    return False


def _credentials_of_other_code(difference: ValueDifference, old: Workflow, new: Workflow) -> str:
    """Return the credentials of an existing job that checks out another commit, if it has any."""
    match difference.key_path:
        case ("jobs", str(name), "steps", _, "with", "ref" | "repository") if name in _jobs(
            old
        ) and name in _jobs(new):
            return _credentials(new, _jobs(new)[name])
    return ""


def _credentials(workflow: Workflow, job: Workflow) -> str:
    permissions = _permissions(workflow, job)
    scopes = permissions if isinstance(permissions, dict) else {}
    names = [f"{scope}: write" for scope, level in scopes.items() if level == "write"]
    names += [f"environment {job['environment']}"] if job.get("environment") else []
    names += ["secrets"] if "secrets." in str(job) else []
    return ", ".join(names)


def _actions(job: Workflow) -> str:
    return "\n".join(str(step.get("uses", "")) for step in _steps(job))


def _rights(content: bytes) -> Iterator[tuple[str, str]]:
    """Yield each right of a job that is a danger if it is new: the job's name, and what it does.

    The name is empty for what the whole workflow does.
    """
    workflow = _read(content)
    for event in _events(workflow) & WITH_TOKEN:
        yield "", f"a change of a fork runs it with a token of this repository (on: {event})"
    for name, job in _jobs(workflow).items():
        permissions = _permissions(workflow, job)
        scopes = permissions.items() if isinstance(permissions, dict) else [("", permissions)]
        for scope, level in scopes:
            if str(level).startswith("write"):
                yield name, f"may write (permissions: {scope or level})"
        commands = _commands(job)
        for match in _OVERRIDES.finditer(commands):
            yield name, f"delivers with {match[0]}"
        environment = job.get("environment")
        if environment and _DELIVER.search(commands):
            title = environment.get("name") if isinstance(environment, dict) else environment
            yield name, f"delivers in the environment {title}, whose reviewers approve it"
        texts = (text for step in _steps(job) for text in _unsafe_step(step))
        pipes = _unchecked_pipes(workflow, job)
        yield from ((name, text) for text in (*texts, *pipes, *_empty_values(workflow, job)))
    yield from _restored_caches(workflow)


def _unchecked_pipes(workflow: Workflow, job: Workflow) -> Iterator[str]:
    """Yield commands whose failure before a pipe is ignored.

    GitHub sets pipefail only with `shell: bash` (GitHub docs, workflow syntax, `shell`).
    """
    for step in _steps(job):
        shells = [(part.get("defaults") or {}).get("run") or {} for part in (workflow, job)]
        shell = str({**shells[0], **shells[1], **step}.get("shell", ""))
        for command in _commands({"steps": step}).splitlines():
            if any(_PIPE.findall(command)) and shell != "bash" and "pipefail" not in shell:
                yield f"ignores failures before the pipe, without shell: bash: {command.strip()}"


def _empty_values(workflow: Workflow, job: Workflow) -> Iterator[str]:
    """Yield the outputs that a job uses, and that no job that it needs, or step of it, has.

    The context `needs` has only the jobs in `needs` (GitHub docs, "Contexts").
    """
    needed = {name: _jobs(workflow).get(name, {}) for name in map(str, as_list(job.get("needs")))}
    steps = {str(step.get("id")) for step in _steps(job)}
    for path, text in _texts(job):
        for match in _OUTPUT.finditer(text if "${{" in text or path.endswith("if") else ""):
            kind, name, output = match.groups()
            other = needed.get(name, {})
            is_output = not output or "uses" in other or output in (other.get("outputs") or {})
            if name in steps if kind == "steps" else name in needed and is_output:
                continue
            reason = {"needs": f"it needs no job {name} with it", "steps": f"it has no step {name}"}
            effect = f"which is empty, because {reason[kind]}"
            if path.endswith("with.ref"):
                effect += ", and checks out the code of the change itself"
                credentials = _credentials(workflow, job)
                effect += f" with credentials ({credentials})" if credentials else ""
            yield f"uses {match[0]} in {path}, {effect}"


def _texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield path and value of each text."""
    if isinstance(value, str):
        yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(as_list(value))
    for key, item in items if isinstance(value, dict | list) else ():
        yield from _texts(item, f"{path}.{key}".lstrip("."))


def _restored_caches(workflow: Workflow) -> Iterator[tuple[str, str]]:
    """Yield jobs with credentials or a review, and the caches that other jobs can write.

    Jobs of one branch or pull request share them (GitHub docs, "Restrictions for accessing a
    cache").
    """
    jobs = _jobs(workflow)
    trusted = {name for name, job in jobs.items()
               if _credentials(workflow, job) or REVIEW in _commands(job)}  # fmt: skip
    writers = ", ".join(name for name in jobs if name not in trusted and _commands(jobs[name]))
    for name in sorted(trusted) if writers else ():
        for step in _steps(jobs[name]):
            action = str(step.get("uses", "")).partition("@")[0]
            if action.startswith("actions/cache") or (step.get("with") or {}).get("cache"):
                text = f"restores a cache ({action}) that jobs which run the code of the change"
                yield name, f"{text} ({writers}) can write: it puts files into the job"


def _unsafe_step(step: Workflow) -> Iterator[str]:
    """Yield what a step does that zizmor refuses too, or that hides its failure."""
    action = str(step.get("uses", ""))
    if action and not action.startswith("./") and not _PINNED.search(action):
        yield f"runs {action}, which is not pinned by a commit: whoever owns it can change it"
    for text in dict.fromkeys(_FOREIGN.findall(str(step.get("run", "")))):
        yield f"inserts {text} into a shell command: whoever writes that text runs commands"
    reference = str((step.get("with") or {}).get("ref", ""))
    if ".pull_request.head." in reference or "github.head_ref" in reference:
        yield f"checks out the code of a change ({reference})"
    if step.get("continue-on-error"):
        yield "ignores the failure of a step (continue-on-error)"


def broken_invariants(files: Mapping[str, bytes]) -> Iterator[tuple[str, Remark]]:
    """Yield workflow and danger of each broken invariant of the workflows, up to an unreadable one.

    1. A job that can deploy has an environment, whose rules AWS's trust policy requires, and a
       concurrency group.
    2. No job of a pull request, or of another event of strangers, gets a token for AWS.
    3. A job reviews each pull request and each push that is delivered, and also runs after a
       failure.
    4. Each delivery needs the review, and all but the first need another delivery.
    5. make gets no text of a job's output or an event, neither as argument nor from the
       environment: it runs `$(shell ...)` in a value, and shells run what is inserted in a command.
    """
    reviewed_events = set[str]()
    for path, content in files.items():
        if not path.startswith(FOLDER) or not path.endswith((".yml", ".yaml")):
            continue
        try:
            workflow = _read(content)
        except Unreadable as error:
            yield path, Remark(UNREADABLE, f"not compared: {error}")
            return
        events, jobs = _events(workflow), _jobs(workflow)
        reviews = {name for name, job in jobs.items() if REVIEW in _commands(job)}
        deliveries = {name for name, job in jobs.items() if _DELIVER.search(_commands(job))}
        first = {name for name in deliveries if not _needed(jobs, name) & deliveries}
        several = len(first) > 1
        reviewed_events |= events if reviews else set()
        for name, job in jobs.items():
            for text in (
                *_broken_token(workflow, events, job),
                *_broken_review(job, is_review=name in reviews),
                *_broken_make(workflow, job),
                *(_broken_delivery(jobs, name, reviews) if name in deliveries else ()),
                *(("delivers first, as another job does",) if name in first and several else ()),
            ):
                yield path, Remark("widened_workflows", f"the job {name} {text}")
    if reviewed_events and "pull_request" not in reviewed_events:
        text = f"no job reviews pull requests ({REVIEW})"
        yield FOLDER, Remark("widened_workflows", text)


def _broken_token(workflow: Workflow, events: set[str], job: Workflow) -> Iterator[str]:
    permissions = job.get("permissions", workflow.get("permissions", "write-all"))
    has_token = permissions == "write-all" or (
        isinstance(permissions, dict) and permissions.get("id-token") == "write"
    )
    if not has_token:
        return
    if strangers := events & STRANGERS:
        yield f"gets a token for AWS (id-token) on {', '.join(sorted(strangers))}"
    if events <= UNATTENDED:
        return  # its token has no environment: the trust policy of the deploy role refuses it
    if not job.get("environment"):
        yield "gets a token for AWS (id-token) without an environment"
    if not job.get("concurrency", workflow.get("concurrency")):
        yield "gets a token for AWS (id-token) without a concurrency group"


def _broken_review(job: Workflow, *, is_review: bool) -> Iterator[str]:
    if is_review and job.get("if") != RUNS_AFTER_FAILURES:
        yield f"reviews changes, and does not run after a failure (if: {RUNS_AFTER_FAILURES})"
    if is_review and job.get("continue-on-error"):
        yield "reviews changes, and its failure is ignored (continue-on-error)"


def _broken_make(workflow: Workflow, job: Workflow) -> Iterator[str]:
    for step in _steps(job):
        calls = _MAKE.findall(_commands({"steps": step}))
        environments = [_CONSTANTS.sub("", str(part.get("env"))) for part in (workflow, job, step)]
        if any("$" in arguments for arguments in calls):
            yield "passes values to make, which runs code in them: call the program itself"
        elif calls and any("${{" in environment for environment in environments):
            yield "runs make with values in its environment (env), and make runs code in them"


def _broken_delivery(jobs: Mapping[str, Workflow], name: str, reviews: set[str]) -> Iterator[str]:
    if not _needed(jobs, name) & reviews:
        yield f"delivers, and needs no job that reviews the change ({REVIEW})"
    if "if" in jobs[name]:
        yield "delivers under a condition (if): a failed job that it needs might not stop it"
    concurrency = jobs[name].get("concurrency")
    if isinstance(concurrency, dict) and concurrency.get("cancel-in-progress"):
        yield "delivers, and a later run cancels it (cancel-in-progress)"


def _needed(jobs: Mapping[str, Workflow], name: str) -> set[str]:
    """Return the names of all jobs that a job waits for."""
    needed, pending = set[str](), [name]
    while pending:
        for other in map(str, as_list(jobs[pending.pop()].get("needs"))):
            if other in jobs and other not in needed:
                needed.add(other)
                pending.append(other)
    return needed


def _read(content: bytes) -> Workflow:
    workflow = read_yaml(content)
    if not isinstance(workflow, dict) or not isinstance(workflow.get("jobs") or {}, dict):
        raise Unreadable("is not a workflow")
    return workflow


def _events(workflow: Workflow) -> set[str]:
    """Return the events that trigger a workflow; YAML 1.1 reads the key `on` as true."""
    events = workflow.get(True, workflow.get("on"))
    return {str(event) for event in (events if isinstance(events, dict) else as_list(events))}


def _jobs(workflow: Workflow) -> dict[str, Workflow]:
    jobs = workflow.get("jobs") or {}
    return {str(name): job for name, job in jobs.items() if isinstance(job, dict)}


def _commands(job: Workflow) -> str:
    """Return the shell commands of a job's steps, each on one line."""
    runs = [step.get("run", "") for step in _steps(job)]
    return "\n".join(str(run).replace("\\\n", " ") for run in runs)


def _steps(job: Workflow) -> list[Workflow]:
    return [step for step in as_list(job.get("steps")) if isinstance(step, dict)]
