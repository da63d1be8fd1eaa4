"""The review of all changed files."""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from release.assemblies import SynthesisedCheckout
from review.amounts import falls_sharply, rises_sharply, unsafe_amount
from review.dangers.danger import REPOSITORY, Danger, digest, merge_groups
from review.escaping import not_bold
from review.files.called_functions import Units, called_functions
from review.files.changed_code import (
    LOCATIONS,
    UNOWNED_CODE,
    ChangedFile,
    CodeOwners,
    file_lines,
    package_lines,
    script_lines,
)
from review.files.code_changes import NOT_READ, CodeChanges
from review.files.model_code import new_capabilities
from review.files.model_data import (
    MODEL_DATA,
    ONLY_FORMATTED,
    describe_model_data,
    describe_table,
    lengths_above_engines,
)
from review.files.packages import NPM_LOCK, describe_packages
from review.files.readers import UNREADABLE, compared, read_json, read_text, read_yaml
from review.files.weaker_checks import refusals
from review.files.workflows import FOLDER as WORKFLOWS
from review.files.workflows import describe_workflows
from review.remark import NOTE, Remark
from review.shell_commands import command_remarks
from review.values import first_names, format_change, value_differences

ACKNOWLEDGEMENTS = "review/acknowledged.yaml"
MAX_NOTES = 20
"""Maximum number of notes about one file."""

SCRIPT = re.compile(r"(.*/)?(Makefile|Dockerfile[^/]*|[^/]+\.(mk|sh))|\.ci/.*")
SETTINGS: Mapping[str, Callable[[bytes], Any]] = {
    **dict.fromkeys(("yaml", "yml"), read_yaml),
    "json": read_json,
    "toml": lambda content: tomllib.loads("" if content == b"{}" else read_text(content)),
}
"""Suffix of files of settings -> their reader."""
NOT_DEPLOYED = re.compile(r"(.*/)?(tests|docs|tools)/")
RUNNING = ("delivery/", "endpoint_client/", "release/artefact.py")
"""Code that runs with the stage, and is in no template."""
LEDGER = "delivery/permissions/"
"""Folder of the ledger of permissions: a change of it changes no delivery."""
JUDGING = ("delivery/", "endpoint_client/", "model_build/", "models/", "release/", "review/")
"""Folders of code whose checks protect a stage; the effect of other code is in templates."""
GUARDING = re.compile(
    r"constructs/\w+/(build|catalog|update)_handler/|delivery/(archives|promotion|store)\.py"
    r"|model_build/triton_load\.py|local_sagemaker/(load_archive|hosting/(launch|sandbox))\.py"
)
"""Code that guards a stage: what it accepts, copies and isolates."""
MAX_STATEMENTS, MAX_JUDGING_STATEMENTS = 200, 500
"""Maximum characters of a file's changed statements; also of a file of `JUDGING` or a function."""

CDK_SETTINGS = "cdk.json"
CDK_SETTINGS_WITHOUT_EFFECT = ("context", "progress", "versionReporting", "watch")
"""Keys of cdk.json that change no deploy, or templates only; the others are options of each one
(CDK developer guide, "Configuring the CDK CLI")."""

MERGED_RULES = ("new_packages", UNOWNED_CODE)
"""Rules whose dangers are one danger for all files."""


@dataclass(frozen=True)
class FileReview:
    """Dangers and notes of files.

    `code` has a line for each package with changed code, `code_files` one for each file of code.
    """

    dangers: tuple[Danger, ...] = ()
    notes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    code_files: tuple[str, ...] = ()


def review_files(before: SynthesisedCheckout, after: SynthesisedCheckout) -> FileReview:
    """Compare the tracked files of two trees, and the untracked files of `after`."""
    files = after.files("--others", "--exclude-standard")
    assets = after.assemblies.glob("*/asset.*/**/*.py")
    return compare_files(before.files(), files, frozenset(path.read_bytes() for path in assets))


def compare_files(
    base: Mapping[str, bytes], head: Mapping[str, bytes], assets: frozenset[bytes] = frozenset()
) -> FileReview:
    """Compare all files before (`base`) and after (`head`), each path -> content.

    `assets` are the contents of Python files that functions and builds run.

    A change of only the file of acknowledged dangers is not a danger: new acknowledgements are
    valid only after the merge, which its owners approve.
    """
    changed = [
        ChangedFile(path, base.get(path), head.get(path))
        for path in sorted(base.keys() | head.keys())
        if base.get(path) != head.get(path)
    ]
    moved = _moved_files(changed)
    changed = [moved.get(file.path, file) for file in changed]
    by_file, statements = _remarks_and_statements(changed, base, head, assets)
    owners, new_owners = CodeOwners.of(base), CodeOwners.of(head)
    only_acknowledges = [file.path for file in changed] == [ACKNOWLEDGEMENTS]
    dangers: list[Danger] = []
    notes: dict[str, dict[str, list[str]]] = {}
    for file in changed:
        remarks = by_file[file.path]
        if file.path in LOCATIONS:
            remarks += _lost_owners(owners, new_owners, head)
        if file.is_code and not owners.find(file.path) and not only_acknowledges:
            text = f"package {file.package}: code without an owner in the base's CODEOWNERS"
            remarks.append(Remark(UNOWNED_CODE, f"{text}: nobody has to approve it"))
        file_dangers, note = _dangers_and_note(file, remarks)
        dangers += file_dangers
        if note:
            name = file.path.removeprefix(f"{file.package}/")
            notes.setdefault(file.package, {}).setdefault(note, []).append(name)
    old_paths = {file.old_path for file in moved.values()}
    code = [file for file in changed if file.is_code and file.path not in old_paths]
    return FileReview(
        tuple(merge_groups(dangers)),
        tuple(f"{package}: {_note(rows)}" for package, rows in notes.items()),
        package_lines(code, statements),
        file_lines(code),
    )


def _remarks_and_statements(
    changed: Sequence[ChangedFile],
    base: Mapping[str, bytes],
    head: Mapping[str, bytes],
    assets: Collection[bytes],
) -> tuple[dict[str, list[Remark]], dict[str, list[str]]]:
    """Return the remarks about the contents of changed files, and changed statements, by path."""
    code_changes = {
        file.path: CodeChanges(file.before or b"", file.after)
        for file in changed
        if _is_run(file.path) and file.after is not None
    }
    judging = {path for path in code_changes if path.startswith(JUDGING) or head[path] in assets}
    of_several: dict[str, list[Remark]] = defaultdict(list)
    for path, remark in (
        *describe_workflows(changed, base, head),
        *new_capabilities(changed, base, head),
        *lengths_above_engines(changed, base, head),
        *_lost_checks(code_changes, {file.path: file.package for file in changed}, judging),
    ):
        of_several[path].append(remark)
    by_file: dict[str, list[Remark]] = {}
    statements: dict[str, list[str]] = {}
    for file in changed:
        remarks: list[Remark] = []
        if file.path in code_changes:
            remarks, statements[file.path] = _code_remarks(
                file.path, code_changes[file.path], is_function=file.after in assets
            )
        elif SCRIPT.fullmatch(file.path):
            statements[file.path] = script_lines(file)
        remarks += dict.fromkeys((*_remarks(file, base, head), *of_several[file.path]))
        by_file[file.path] = [Remark(rule, not_bold(text)) for rule, text in remarks]
    return by_file, statements


def _dangers_and_note(file: ChangedFile, remarks: Sequence[Remark]) -> tuple[list[Danger], str]:
    """Return the dangers of a file, and its notes, unless the first danger has them."""
    notes = [text for rule, text in remarks if rule == NOTE]
    if len(notes) > MAX_NOTES:
        notes = [*notes[:MAX_NOTES], f"{len(notes) - MAX_NOTES} more"]
    dangers = []
    for rule, text in remarks:
        if rule == UNOWNED_CODE:  # which says nothing about the content
            dangers.append(_danger(file, rule, text))
        elif rule != NOTE:
            dangers.append(_danger(file, rule, text, notes))
            notes = []
    return dangers, "; ".join(notes)


def _note(rows: Mapping[str, list[str]]) -> str:
    """Return texts, each after the names of the files that have it."""
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in rows.items())


def _code_remarks(
    path: str, changes: CodeChanges, *, is_function: bool
) -> tuple[list[Remark], list[str]]:
    """Return the dangers of changed Python code, and texts about its other changes.

    They are dangers in code that runs in AWS, as a function does, or that protects a stage: the
    effect of other code is in templates and plans.
    """
    is_judging = is_function or path.startswith(JUDGING)
    if is_judging and not changes.is_readable:
        return [Remark(UNREADABLE, NOT_READ)], []
    dangers, texts = list[Remark](), list[str]()
    functions = set[str]()
    for warning in changes.warnings:
        kept = f" {_duration(path, is_function=is_function)}" if warning.is_kept else ""
        if warning.is_certain and (is_function if kept else is_judging):
            dangers.append(Remark("weakened_checks", f"{warning}{kept}"))
            functions.add(warning.function)
        else:
            texts.append(f"{warning}{kept}")
    for function, text in changes.decisions if GUARDING.match(path) else ():
        dangers.append(Remark("weakened_checks", text))
        functions.add(function)
    for change in changes.changes if is_function or path.startswith(RUNNING) else ():
        if change.literals:
            falling = unsafe_amount(change.name, *change.literals)
            if falling or _is_other_limit(*change.literals):
                rule = falling.rule if falling else "changed_limits"
                text = f"{change.name} {format_change(*map(repr, change.literals))}"
                dangers.append(Remark(rule, text))
                functions.add(change.function)
    subject = _subject(path, is_function=is_function)
    acting = changes.acting_functions(is_exact=path.startswith("models/")) if subject else set()
    if acting and not dangers:
        effects = "; ".join(changes.effects)
        return [Remark("changed_behaviour", f"{subject} differently: {effects}")], texts
    if others := sorted(filter(None, acting - functions)):
        dangers.append(Remark(NOTE, f"{subject} differently also in {first_names(others)}"))
    longest = MAX_JUDGING_STATEMENTS if is_judging else MAX_STATEMENTS
    return dangers, [*texts, *changes.texts(longest)]


def _subject(path: str, *, is_function: bool) -> str:
    """Return who can act otherwise after a change of a file, empty for code of other effects."""
    if path.startswith("models/"):
        return "the model can answer"
    if is_function:
        return "code in AWS can act"
    if path.startswith(RUNNING) and not path.startswith(LEDGER):
        return "clients can act" if path.startswith("endpoint_client/") else "deliveries can act"
    return ""


def _duration(path: str, *, is_function: bool) -> str:
    if is_function:
        return "over the warm invocations of the Lambda function, which then read the old one"
    return "over all requests of an instance" if path.startswith("models/") else "until it ends"


def _lost_checks(
    code: Mapping[str, CodeChanges], packages: Mapping[str, str], judging: Collection[str]
) -> Iterator[tuple[str, Remark]]:
    """Yield file and danger of each call of a check, and of each refusal, that is gone.

    `packages` are those of the files of `code`; only the calls of files of `judging` count.
    """
    old, new = ({f"{path}:{name}": unit for path, changes in code.items()
                 for name, unit in changes.units[side].items()} for side in (0, 1))  # fmt: skip
    called = called_functions(new, old)
    used = {name: new[name] for name in called.keys() | set[str]().union(*called.values())}
    yield from _lost_calls(code, used, judging)
    yield from _lost_refusals(old, new, called, packages)


def _lost_calls(
    code: Mapping[str, CodeChanges], used: Units, judging: Collection[str]
) -> Iterator[tuple[str, Remark]]:
    """Yield the checks that files of `judging` no longer call in the functions that are `used`.

    None if any file newly calls a check: it could be one of them under another name.
    """
    calls = {path: changes.called_checks([unit for name, unit in used.items()
                                          if name.startswith(f"{path}:")])
             for path, changes in code.items()}  # fmt: skip
    for path in judging if not any(added for added, _ in calls.values()) else ():
        for name in sorted(calls[path][1]):
            yield path, Remark("weakened_checks", f"no longer calls {name}")


def _lost_refusals(
    old: Units, new: Units, called: Mapping[str, set[str]], packages: Mapping[str, str]
) -> Iterator[tuple[str, Remark]]:
    """Yield each statement that raised an error, and is gone.

    A moved or reworded one is not: its package raises the error as often as before, another file
    has the statement, or the file raises another error under the same condition. If it does so in a
    new function, the old one calls that, or is gone.
    """
    used = set[str]().union(*called.values())
    old_refusals = [*refusals(old)]
    in_place = Counter(refusals({name: new[name] for name in called}))
    losing = {function for function, _ in Counter(old_refusals) - in_place}
    reached = called.keys() | set[str]().union(*(called.get(name, used) for name in losing))
    before = Counter(refusal for _, refusal in old_refusals)
    after = Counter(refusal for _, refusal in refusals({name: new[name] for name in reached}))
    lost, gained = before - after, after - before
    statements = {refusal.statement for refusal in gained}
    conditions = {(refusal.path, refusal.condition) for refusal in after if refusal.condition}
    errors = Counter((packages[refusal.path], refusal.error) for refusal in gained.elements())
    errors.subtract((packages[refusal.path], refusal.error) for refusal in lost.elements())
    for refusal in lost:
        is_rarer = errors[packages[refusal.path], refusal.error] < 0
        is_moved = refusal.statement in statements
        is_reworded = (refusal.path, refusal.condition) in conditions
        if is_rarer and not (is_moved or is_reworded):
            yield refusal.path, Remark("weakened_checks", f"no longer refuses: {refusal}")


def _is_run(path: str) -> bool:
    return path.endswith(".py") and not NOT_DEPLOYED.match(path)


def _is_other_limit(before: Any, after: Any) -> bool:
    if not all(isinstance(value, int | float) for value in (before, after)):
        return False
    is_switched = isinstance(before, bool) or isinstance(after, bool)
    return is_switched or rises_sharply(before, after) or falls_sharply(before, after)


def _moved_files(changed: list[ChangedFile]) -> dict[str, ChangedFile]:
    """Return new path -> change of each file of a renamed folder: what it had is not new."""
    deleted = {file.path: file for file in changed if file.after is None}
    moved = {}
    for file in changed:
        similar = (path for path in deleted if _without_folder(path) == _without_folder(file.path))
        if file.before is None and (old_path := next(similar, None)):
            before = deleted.pop(old_path).before
            moved[file.path] = replace(file, before=before, old_path=old_path)
    return moved


def _without_folder(path: str) -> tuple[str, ...]:
    """Return the parts of a path without the folder of its model or package."""
    top, *parts = path.split("/")
    return (top, *(parts[1:] or parts))


def _remarks(
    file: ChangedFile, base: Mapping[str, bytes], head: Mapping[str, bytes]
) -> Iterator[Remark]:
    folder = "/".join(file.path.split("/")[:2])
    model_exists = any(path.startswith(f"{folder}/") for path in head)
    yield from compared(describe_model_data(file, model_exists=model_exists))
    yield from compared(describe_table(file, base, head))
    yield from compared(describe_packages(file, head))
    yield from compared(_changed_settings(file), UNREADABLE if file.path == CDK_SETTINGS else "")
    if SCRIPT.fullmatch(file.path) and not NOT_DEPLOYED.match(file.path):
        sides = (side or b"" for side in (file.before, file.after))
        yield from command_remarks(*(side.decode(errors="replace") for side in sides))


def _changed_settings(file: ChangedFile) -> Iterator[Remark]:
    """Yield the changed values of settings that no other part of the review compares."""
    name = file.path.rpartition(".")[2]
    is_compared = file.path.startswith(("stages/", WORKFLOWS)) or MODEL_DATA.fullmatch(file.path)
    others = NOT_DEPLOYED.match(file.path) or NPM_LOCK.fullmatch(file.path)
    is_option = file.path == CDK_SETTINGS
    is_one_side = None in (file.before, file.after) and not is_option
    if name not in SETTINGS or is_compared or others or is_one_side:
        return
    before, after = (SETTINGS[name](side or b"{}") for side in (file.before, file.after))
    differences = [*value_differences(before, after)]
    for difference in differences:
        has_effect = next(iter(difference.key_path), "") not in CDK_SETTINGS_WITHOUT_EFFECT
        rule = "changed_stack_settings" if is_option and has_effect else NOTE
        yield Remark(rule, str(difference))
    if not differences:
        yield Remark(NOTE, ONLY_FORMATTED)


def _lost_owners(old: CodeOwners, new: CodeOwners, head: Mapping[str, bytes]) -> Iterator[Remark]:
    """Yield the files for which fewer people than before may approve a change, by owner."""
    groups: dict[tuple[str, str], list[str]] = {}

    def order(path: str) -> tuple[bool, int, str]:
        return not path.startswith(WORKFLOWS), path.count("/"), path

    for path in sorted(head, key=order):
        lost = {*old.named(path)} - {*new.named(path)}
        if new.named(path):
            lost &= {*old.find(path)}  # a placeholder has a successor
        for owner in lost:
            groups.setdefault((owner, new.pattern(path)), []).append(path)
    for (owner, pattern), paths in sorted(groups.items()):
        nobody = "" if new.named(paths[0]) else "; nobody has to"
        files = f"{pattern}: {first_names(paths)}" if pattern else first_names(paths)
        yield Remark("lost_owners", f"{owner} no longer has to approve {files}{nobody}")


def _danger(file: ChangedFile, rule: str, text: str, changes: Sequence[str] = ()) -> Danger:
    """Return a danger whose key has a digest of the file, so that it is accepted only as it is."""
    return Danger(
        f"{file.path}.{digest(b'deleted' if file.after is None else file.after)}",
        f"{file.path}: {text}",
        rule=rule,
        stage=REPOSITORY,
        consequences=tuple(changes),
        group=rule if rule in MERGED_RULES else file.path,
    )
