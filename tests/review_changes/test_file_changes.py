"""Every random change of a value in a settings file is in the review."""

import pytest

from release.review.files.file_review import compare_files
from tests.review_changes.file_changes import file_changes
from tests.unit.release.review.files.repository import base


@pytest.mark.parametrize("seed", range(30))
def test_changed_value_is_reported(seed: int) -> None:
    for change in file_changes(seed):
        review = compare_files(base(), change.head)
        lines = [*review.notes, *(danger.message for danger in review.dangers)]
        assert any(line.startswith(change.path) for line in lines), (change.path, change.key)
        assert not any("only comments" in line for line in lines), (change.path, change.key)
