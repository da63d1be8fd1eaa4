"""Random changes of files: what is dangerous is a danger, what is not is none, all is said."""

import pytest

from release.review.files.file_review import compare_files
from tests.review_changes.file_changes import DANGEROUS, HARMLESS, leaf_mutations, mutation
from tests.unit.release.review.files.repository import base


@pytest.mark.parametrize("kind", DANGEROUS)
def test_a_dangerous_change_is_one_danger_of_its_file(kind: str) -> None:
    for seed in range(4):
        change = mutation(seed, {kind: DANGEROUS[kind]})
        (danger,) = compare_files(base(), change.head).dangers
        (path,) = change.files
        assert danger.subject.startswith(f"{path}."), (path, danger)


@pytest.mark.parametrize("kind", HARMLESS)
def test_a_harmless_change_is_no_danger(kind: str) -> None:
    for seed in range(4):
        change = mutation(seed, {kind: HARMLESS[kind]})
        assert compare_files(base(), change.head).dangers == (), change.files.keys()


@pytest.mark.parametrize("seed", range(30))
def test_no_value_of_a_file_changes_unsaid(seed: int) -> None:
    for change in leaf_mutations(seed):
        review = compare_files(base(), change.head)
        (path,) = change.files
        lines = [*review.notes, *(danger.message for danger in review.dangers)]
        assert any(line.startswith(path) for line in lines), (path, change.kind)
        assert not any("no other values" in line for line in lines), (path, change.kind)
