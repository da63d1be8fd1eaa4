"""Invalid and hostile files of a pull request, which the review reports without failing."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from review.files.file_kinds import find_kind
from review.files.file_review import compare_files
from review.files.model_configuration import uses_sequence_batching
from review.files.readers import MAX_ALIASES, MAX_BYTES
from review.files.unparsed_files import describe_deletion, describe_size
from tests.unit.review.files.repository import base

PATHS = [
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
NESTED_ALIASES = "a0: &a0 [x, x]\n" + "".join(
    f"a{level}: &a{level} [*a{level - 1}, *a{level - 1}, *a{level - 1}]\n" for level in range(1, 30)
)
HOSTILE = {
    "not UTF-8": b"\xff\xfe\x00",
    "too large": b"#" * (MAX_BYTES + 1),
    "nested": b"[" * 5000,
    "nested objects": b'{"a":' * 5000,
    "aliases of aliases": NESTED_ALIASES.encode(),
    "list that contains itself": b"&a [*a]",
    "tag that creates an object": b"!!python/object/apply:os.system [exit]",
    "number with many digits": b"a: " + b"9" * 10_000,
}


def review_rules(path: str, before: bytes | None, after: bytes | None) -> set[str]:
    base, head = ({} if content is None else {path: content} for content in (before, after))
    review = compare_files(base, head)
    assert review.dangers or review.notes
    return {danger.rule for danger in review.dangers}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("path", PATHS)
def test_invalid_file_is_reported(path: str, content: bytes) -> None:
    valid = base()[path]
    for before, after in ((valid, content), (content, valid), (None, content)):
        result = review_rules(path, before, after)
        assert result or "requirements" in path


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda values: (
        st.lists(values, max_size=3)
        | st.dictionaries(
            st.sampled_from(["on", "jobs", "a", "steps", "needs", "permissions", "packages"]),
            values,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("path", PATHS)
@given(value=VALUES)
@example(value={"jobs": {"a": {"steps": {"uses": None}, "needs": {}}}, "on": [[]]})
@example(value={"inputs": {}, "outputs": {"A": []}})
@settings(max_examples=60, deadline=None)
def test_any_value_is_reported(path: str, value: object) -> None:
    content = json.dumps(value).encode()
    review_rules(path, base()[path], content)
    if content != b"{}":
        compare_files({path: content}, {path: base()[path]})


def test_few_aliases_are_allowed() -> None:
    path = ".github/workflows/ci.yml"
    workflow = b"on: push\nenv: &e {a: b}\njobs: {a: {env: *e}}\n"
    assert "unreadable_files" not in review_rules(path, None, workflow)
    assert MAX_ALIASES > 1


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".github/workflows/ci.yml", b"on: push\njobs: {}\njobs: {a: {}}\n"),
        (".github/workflows/ci.yml", b"on: push\njobs: {a: {if: x, if: y}}\n"),
        ("package-lock.json", b'{"packages": {"a": 1, "b": 2, "a": 3}}'),
    ],
)
def test_duplicate_key_is_not_read(path: str, content: bytes) -> None:
    """GitHub or npm could take the other value."""
    assert "unreadable_files" in review_rules(path, None, content)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("models/test_bert/1/model.py", "model code"),
        ("models/bert/1/test_x.py", "model code"),
        ("models/test_formats.py", ""),
        ("models/bert/tests/a/b.py", ""),
        ("models/bert/1/tests/b.py", "model code"),
    ],
)
def test_only_tests_of_models_are_omitted(path: str, name: str) -> None:
    assert find_kind(path).unchecked_name == name


def test_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text('name: "a"\nsequence_batching { }\n')
    (tmp_path / "model" / "part").mkdir(parents=True)
    (tmp_path / "model" / "part" / "config.pbtxt").symlink_to(tmp_path / "elsewhere")
    assert not uses_sequence_batching(tmp_path / "model")


def test_files_of_this_repository_are_far_below_the_limit() -> None:
    unparsed = (None, describe_size, describe_deletion)
    parsed_paths = [path for path in base() if find_kind(path).describe not in unparsed]
    assert max(len(base()[path]) for path in parsed_paths) * 2 < MAX_BYTES
