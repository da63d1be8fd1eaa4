"""The review of all files that a change touches: dangers, notes, and what is not judged."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from release.review.dangers import REPOSITORY, Danger
from release.review.files import code
from release.review.files.file_change import FileChange, FileLine, Rule
from release.review.files.judges import judges
from release.review.files.kinds import kind_of
from release.review.files.plain_values import Unreadable
from release.tree import Tree

ACKNOWLEDGEMENTS = "release/acknowledged.yaml"
MOST_LINES = 20
"""Lines of one file that are notes: what has more is read as a whole."""


@dataclass(frozen=True)
class FileReview:
    """What is said of files: dangers, notes, and what the summary names as not judged."""

    dangers: tuple[Danger, ...] = ()
    notes: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()


def review_files(before: Tree, after: Tree) -> FileReview:
    """Compare the files of two trees: those that git tracks or, in the later one, would take."""
    return compare_files(before.files(), after.files("--others", "--exclude-standard"))


def compare_files(base: Mapping[str, bytes], head: Mapping[str, bytes]) -> FileReview:
    """Compare path -> content of all files.

    A change of acknowledgements that changes nothing else has nothing to approve: it is the file's
    owners that approve it, and none of it counts before it is merged.
    """
    changed = sorted(path for path in base.keys() | head.keys() if base.get(path) != head.get(path))
    folders = {path.partition("/")[0] for path in base}
    dangers: list[Danger] = []
    judging: list[Danger] = []
    notes: list[str] = []
    not_judged: dict[str, None] = {}
    for path in changed if changed != [ACKNOWLEDGEMENTS] else ():
        change = FileChange(path, base, head)
        lines = list(_lines(change, is_judge=judges(path, folders)))
        own = list(_dangers(change, lines))
        (judging if [danger.rule for danger in own] == ["changed_judge"] else dangers).extend(own)
        notes += _notes(path, [line.text for line in lines if not line.rule])
        if lines and not own and (name := kind_of(path).not_judged):
            not_judged[name] = None
    return FileReview((*dangers, *_together(judging)), tuple(notes), tuple(not_judged))


def _lines(change: FileChange, *, is_judge: bool) -> Iterator[FileLine]:
    """Yield what is said of a change; each line of a file that judges has a rule, or is harmless.

    What cannot be read, on either side, is a danger: no rule has seen what changes.
    """
    kind = kind_of(change.path)
    describers = [kind.describe] if kind.describe else []
    if is_judge and kind.reason:
        describers.append(code.describe)
    try:
        lines = [line for describe in describers for line in describe(change)]
    except Unreadable as error:
        lines = [FileLine(f"not compared: {error}", "unreadable_files")]
    if not is_judge and None in (change.before, change.after):
        lines = _as_a_whole(change, lines)
    elif not lines and not kind.reason:
        lines = [FileLine("other comments or another form, and no other values", harmless=True)]
    for line in lines:
        is_open = is_judge and not line.rule and not line.harmless
        yield line._replace(rule="changed_judge") if is_open else line


def _as_a_whole(change: FileChange, lines: list[FileLine]) -> list[FileLine]:
    """Return one line in place of those of all values of a file that is new or deleted."""
    values = [line for line in lines if not line.rule]
    if len(values) < 2:
        return lines
    whole = FileLine(f"{code.state(change)} ({code.size(change)})")
    return [*(line for line in lines if line.rule), whole]


def _dangers(change: FileChange, lines: list[FileLine]) -> Iterator[Danger]:
    """Yield a danger for each rule; what another rule finds in a file that judges is one with it.

    The key holds the digest of the file: to acknowledge it is to acknowledge this content.
    """
    rules: dict[Rule, list[str]] = {}
    for line in lines:
        if line.rule:
            rules.setdefault(line.rule, []).append(line.text)
    if len(rules) > 1:
        others = rules.pop("changed_judge", [])
        next(iter(rules.values())).extend(others)
    for rule, texts in rules.items():
        subject = "judges, installs or deploys the next change: " if rule == "changed_judge" else ""
        first = f"{change.path}{' ' if subject else ': '}{subject}{texts[0]}"
        more = f" (and {len(texts) - 1} more)" if len(texts) > 1 else ""
        details = tuple(texts) if more else ()
        yield Danger(REPOSITORY, rule, change.subject, first + more, details)


def _together(judging: list[Danger]) -> list[Danger]:
    """Return one danger of all files that judge, whose key is that of exactly their content."""
    if len(judging) < 2:
        return judging
    subjects = "\n".join(danger.subject for danger in judging)
    digest = hashlib.sha256(subjects.encode()).hexdigest()
    message = f"{len(judging)} files change that judge, install or deploy the next change"
    parts = tuple(
        text
        for danger in judging
        for text in (danger.message, *(f"{_path(danger)}: {more}" for more in danger.details[1:]))
    )
    return [Danger(REPOSITORY, "changed_judge", f"files.{digest}", message, parts)]


def _path(danger: Danger) -> str:
    return danger.subject.rpartition(".")[0]


def _notes(path: str, texts: list[str]) -> list[str]:
    more = len(texts) - MOST_LINES
    shown = [*texts[:MOST_LINES], *([f"{more} more"] if more > 0 else [])]
    return [f"{path}: {text}" for text in shown]
