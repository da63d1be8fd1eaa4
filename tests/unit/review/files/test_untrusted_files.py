"""Invalid and hostile files of a pull request, which the review reports without failing."""

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from release.checkout import Checkout
from review.files.file_review import compare_files
from review.files.readers import MAX_ALIASES, MAX_BYTES

ROOT = Path(__file__).parents[4]


@cache
def base() -> dict[str, bytes]:
    """Return the files that git tracks."""
    return Checkout(ROOT).files()


PATHS = [
    "models/minilm/recipe.yaml",
    "models/minilm/encoder/config.pbtxt",
    "models/minilm/tests/golden.json",
    "models/minilm/tokenizer/requirements.txt",
    "requirements.txt",
    "package-lock.json",
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
    assert review.dangers or review.notes or review.code
    return {danger.rule for danger in review.dangers}


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ("instance_group { count: 8 } dynamic_batching { }", "multiplied_capacity"),
        ("instance_group { count: 1 }", "slow_responses"),
        (
            'instance_group { count: 1 } dynamic_batching { } parameters { key: "max_length" '
            'value { string_value: "256" } }',
            "changed_limits",
        ),
        ("dynamic_batching { max_queue_delay_microseconds: 2000000 }", "slow_responses"),
    ],
)
def test_large_amount_of_a_configuration_is_a_danger(fields: str, rule: str) -> None:
    limit = b'parameters { key: "max_length" value { string_value: "128" } }'
    small = b"instance_group { count: 1 } dynamic_batching { }"
    small += limit if b"max_length" in fields.encode() else b""
    assert review_rules("models/m/m/config.pbtxt", small, fields.encode()) == {rule}


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
@settings(max_examples=20, deadline=None)
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
