"""Files of a pull request have any form: each gets a line, and none ends the review."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from release.review.files.file_review import compare_files
from release.review.files.kinds import kind_of
from release.review.files.model_configuration import uses_sequence_batching
from release.review.files.readers import LARGEST, MOST_ALIASES
from release.review.files.unparsed_files import deleted, unjudged
from tests.unit.release.review.files.repository import base

READ = [
    "models/minilm/recipe.yaml",
    "models/minilm/encoder/config.pbtxt",
    "models/minilm/tests/golden.json",
    "models/minilm/tokenizer/requirements.txt",
    "requirements.txt",
    "package-lock.json",
    "cdk.json",
    "pyproject.toml",
    ".checkov.yaml",
    ".github/workflows/deploy.yml",
]
LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{level}: &a{level} [*a{level - 1}, *a{level - 1}, *a{level - 1}]\n" for level in range(1, 30)
)
HOSTILE = {
    "not UTF-8": b"\xff\xfe\x00",
    "too large": b"#" * (LARGEST + 1),
    "nested": b"[" * 5000,
    "nested objects": b'{"a":' * 5000,
    "aliases of aliases": LAUGHS.encode(),
    "a list that holds itself": b"&a [*a]",
    "a tag that makes an object": b"!!python/object/apply:os.system [exit]",
    "a number of many digits": b"a: " + b"9" * 10_000,
}


def rules(path: str, before: bytes | None, after: bytes | None) -> set[str]:
    base, head = ({} if each is None else {path: each} for each in (before, after))
    review = compare_files(base, head)
    assert review.dangers or review.notes
    return {danger.rule for danger in review.dangers}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("path", READ)
def test_a_file_that_cannot_be_read_gets_a_line_on_either_side(path: str, content: bytes) -> None:
    good = base()[path]
    for before, after in ((good, content), (content, good), (None, content)):
        result = rules(path, before, after)
        assert result or "requirements" in path


@pytest.mark.parametrize("path", READ)
def test_a_file_that_is_too_large_is_not_compared(path: str) -> None:
    assert rules(path, base()[path], b"#" * (LARGEST + 1)) == {"unreadable_files"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.dictionaries(
            st.sampled_from(["on", "jobs", "a", "steps", "needs", "permissions", "packages"]),
            parts,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("path", READ)
@given(value=VALUES)
@example(value={"jobs": {"a": {"steps": {"uses": None}, "needs": {}}}, "on": [[]]})
@example(value={"inputs": {}, "outputs": {"A": []}})
@settings(max_examples=60, deadline=None)
def test_any_value_gets_a_line(path: str, value: object) -> None:
    content = json.dumps(value).encode()
    rules(path, base()[path], content)
    if content != b"{}":
        compare_files({path: content}, {path: base()[path]})


@pytest.mark.parametrize("path", READ)
@given(content=st.binary(max_size=40))
@settings(max_examples=40, deadline=None)
def test_any_bytes_get_a_line(path: str, content: bytes) -> None:
    rules(path, base()[path], content)
    compare_files({path: content}, {path: base()[path]})


def test_a_few_aliases_are_read() -> None:
    path = ".github/workflows/ci.yml"
    few = b"on: push\nenv: &e {a: b}\njobs: {a: {env: *e}}\n"
    assert "unreadable_files" not in rules(path, None, few)
    assert MOST_ALIASES > 1


SEQUENCES = 'name: "a"\nsequence_batching { }\n'


@pytest.mark.parametrize(
    ("content", "expected"),
    [(SEQUENCES, True), ('name: "a"\n', False), ("sequence_batching", False)],
)
def test_sequence_batching_is_read_from_the_configuration(
    tmp_path: Path, content: str, expected: bool
) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "config.pbtxt").write_text(content)
    assert uses_sequence_batching(tmp_path) is expected


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(SEQUENCES)
    (tmp_path / "model" / "part").mkdir(parents=True)
    (tmp_path / "model" / "part" / "config.pbtxt").symlink_to(tmp_path / "elsewhere")
    assert not uses_sequence_batching(tmp_path / "model")


def test_every_file_of_this_repository_that_is_compared_by_field_can_be_read() -> None:
    described = (path for path in base() if kind_of(path).describe not in (None, unjudged, deleted))
    assert max(len(base()[path]) for path in described) * 2 < LARGEST
