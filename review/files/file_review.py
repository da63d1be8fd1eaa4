"""The review of all changed files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from release.checkout import Checkout
from review.dangers.danger import REPOSITORY, Danger, digest, merge_groups
from review.files.changed_code import ChangedFile, CodeOwners, package_lines
from review.files.model_data import describe_model_data
from review.files.packages import describe_packages
from review.files.workflows import describe_workflow

ACKNOWLEDGEMENTS = "review/acknowledged.yaml"
MAX_NOTES = 20
"""Maximum number of notes about one file."""

MERGED_RULES = ("new_packages", "unowned_code")
"""Rules whose dangers are one danger for all files."""


@dataclass(frozen=True)
class FileReview:
    """Dangers and notes of files; `code` has a line for each package with changed code."""

    dangers: tuple[Danger, ...] = ()
    notes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()


def review_files(before: Checkout, after: Checkout) -> FileReview:
    """Compare the tracked files of two trees, and the untracked files of `after`."""
    return compare_files(before.files(), after.files("--others", "--exclude-standard"))


def compare_files(base: Mapping[str, bytes], head: Mapping[str, bytes]) -> FileReview:
    """Compare all files before (`base`) and after (`head`), each path -> content.

    A change of only the file of acknowledged dangers is not a danger: new acknowledgements are
    valid only after the merge, which its owners approve.
    """
    changed = [
        ChangedFile(path, base.get(path), head.get(path))
        for path in sorted(base.keys() | head.keys())
        if base.get(path) != head.get(path)
    ]
    dangers: list[Danger] = []
    notes: list[str] = []
    owners = CodeOwners.of(base)
    only_acknowledges = [file.path for file in changed] == [ACKNOWLEDGEMENTS]
    for file in changed:
        findings = [*dict.fromkeys(_findings(file, base, head))]
        if file.is_code and not owners.find(file.path) and not only_acknowledges:
            text = f"package {file.package}: code without an owner in the base's CODEOWNERS"
            findings.append(("unowned_code", f"{text}: nobody has to approve it"))
        dangers += [_danger(file, rule, text) for rule, text in findings if rule]
        texts = [text for rule, text in findings if not rule]
        if len(texts) > MAX_NOTES:
            texts = [*texts[:MAX_NOTES], f"{len(texts) - MAX_NOTES} more"]
        notes += [f"{file.path}: {text}" for text in texts]
    code = package_lines(file for file in changed if file.is_code)
    return FileReview(tuple(merge_groups(dangers)), tuple(notes), code)


def _findings(
    file: ChangedFile, base: Mapping[str, bytes], head: Mapping[str, bytes]
) -> Iterator[tuple[str, str]]:
    folder = "/".join(file.path.split("/")[:2])
    model_exists = any(path.startswith(f"{folder}/") for path in head)
    yield from describe_model_data(file, model_exists=model_exists)
    yield from describe_packages(file)
    yield from describe_workflow(file.path, base, head)


def _danger(file: ChangedFile, rule: str, text: str) -> Danger:
    """Return a danger whose key has a digest of the file, so that it is accepted only as it is."""
    return Danger(
        f"{file.path}.{digest(b'deleted' if file.after is None else file.after)}",
        f"{file.path}: {text}",
        rule=rule,
        stage=REPOSITORY,
        group=rule if rule in MERGED_RULES else file.path,
    )
