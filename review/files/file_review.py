"""The review of all changed files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from release.checkout import Checkout
from review.dangers.danger import REPOSITORY, Danger, merge_groups
from review.files.file_change import FileChange, FileLine, Rule
from review.files.file_kinds import find_kind
from review.files.next_change import affects_next_change
from review.files.unparsed_files import describe_size
from review.values import Unreadable

ACKNOWLEDGEMENTS = "review/acknowledged.yaml"
MAX_NOTES = 20
"""Maximum number of notes about one file."""


@dataclass(frozen=True)
class FileReview:
    """Dangers, notes, and the kinds of changed files that no rule checks (`not_judged`)."""

    dangers: tuple[Danger, ...] = ()
    notes: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()


def review_files(before: Checkout, after: Checkout) -> FileReview:
    """Compare the tracked files of two trees, and the untracked files of `after`."""
    return compare_files(before.files(), after.files("--others", "--exclude-standard"))


def compare_files(base: Mapping[str, bytes], head: Mapping[str, bytes]) -> FileReview:
    """Compare all files before (`base`) and after (`head`), each path -> content.

    A change of only the file of acknowledged dangers is not a danger: its code owners approve it,
    and new acknowledgements are valid only after the merge.
    """
    changed = sorted(path for path in base.keys() | head.keys() if base.get(path) != head.get(path))
    if changed == [ACKNOWLEDGEMENTS]:
        return FileReview()
    folders = {path.partition("/")[0] for path in base}
    dangers: list[Danger] = []
    notes: list[str] = []
    not_judged: dict[str, None] = {}
    for path in changed:
        change = FileChange(path, base, head)
        lines = list(_lines(change, affects_next=affects_next_change(path, folders)))
        file_dangers = list(_dangers(change, lines))
        dangers += file_dangers
        notes += _notes(path, [line.text for line in lines if not line.rule])
        is_harmless = all(line.harmless for line in lines)
        if not is_harmless and not file_dangers and (name := find_kind(path).unchecked_name):
            not_judged[name] = None
    return FileReview(tuple(merge_groups(dangers)), tuple(notes), tuple(not_judged))


def _lines(change: FileChange, *, affects_next: bool) -> Iterator[FileLine]:
    """Yield the lines of a change.

    If the file reviews, installs or deploys the next change, each line has a rule or is harmless.
    A file that cannot be read is a danger, because no rule can check its changes.
    """
    kind = find_kind(change.path)
    describers = [kind.describe] if kind.describe else []
    if affects_next and kind.why_omitted:
        describers.append(describe_size)
    try:
        lines = [line for describe in describers for line in describe(change)]
    except Unreadable as error:
        lines = [FileLine(f"not compared: {error}", rule="unreadable_files")]
    if not affects_next and None in (change.before, change.after):
        lines = _merge_notes(change, lines)
    elif not lines and not kind.why_omitted:
        lines = [FileLine("only comments or formatting change", harmless=True)]
    for line in lines:
        is_danger = affects_next and not line.rule and not line.harmless
        yield line._replace(rule="changed_release_process") if is_danger else line


def _merge_notes(change: FileChange, lines: list[FileLine]) -> list[FileLine]:
    """Return the lines of a new or deleted file, with the lines without a rule merged into one."""
    dangers = [line for line in lines if line.rule]
    if len(lines) - len(dangers) < 2:
        return lines
    return [*dangers, FileLine(f"{change.state} ({change.size})")]


def _dangers(change: FileChange, lines: list[FileLine]) -> Iterator[Danger]:
    """Yield a danger for each rule.

    The lines of `changed_release_process` are in the first danger of another rule, if there is one.
    The danger's key contains a digest of the file (`FileChange.subject`), so that an
    acknowledgement is valid only for this content.
    """
    texts_by_rule: dict[Rule, list[str]] = {}
    for line in lines:
        if line.rule:
            texts_by_rule.setdefault(line.rule, []).append(line.text)
    changed_release_process = texts_by_rule.pop("changed_release_process", [])
    for texts in list(texts_by_rule.values())[:1]:
        texts += changed_release_process
    if changed_release_process and not texts_by_rule:
        yield Danger(
            change.subject,
            f"{change.path} is part of the review and release process: "
            f"{_first_text(changed_release_process)}",
            rule="changed_release_process",
            stage=REPOSITORY,
            details=tuple(f"{change.path}: {text}" for text in changed_release_process[1:]),
            group="files",  # all such files are one danger
        )
    for rule, texts in texts_by_rule.items():
        details = tuple(texts) if len(texts) > 1 else ()
        message = f"{change.path}: {_first_text(texts)}"
        yield Danger(change.subject, message, rule=rule, stage=REPOSITORY, details=details)


def _first_text(texts: list[str]) -> str:
    return f"{texts[0]} (and {len(texts) - 1} more)" if len(texts) > 1 else texts[0]


def _notes(path: str, texts: list[str]) -> list[str]:
    if len(texts) > MAX_NOTES:
        texts = [*texts[:MAX_NOTES], f"{len(texts) - MAX_NOTES} more"]
    return [f"{path}: {text}" for text in texts]
