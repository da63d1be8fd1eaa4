import json
from pathlib import Path
from shutil import copytree

import pytest

from model_build.__main__ import main
from tests.processes import run_main
from tests.unit.model_build.commands.conftest import (
    NO_LOAD,
    PREFIX,
    FakeAws,
    fail,
    make_item,
    make_items,
    run_json,
    store_list,
)


@pytest.fixture
def three(doubled: Path) -> list[Path]:
    """Three folders with the same model."""
    return [doubled, *(copytree(doubled, doubled.with_name(name)) for name in ("twice", "again"))]


def test_archives_are_built_once(aws: FakeAws, three: list[Path]) -> None:
    items = make_items(aws, *three)
    arguments = store_list(aws, items)
    assert run_json(*arguments, *NO_LOAD) == {"built": sorted(item.key for item in items)}
    manifests = {
        key: json.loads(content["Body"])
        for key, content in aws.s3.objects.items()
        if key.startswith(PREFIX) and key.endswith(".json")
    }
    assert {manifest["model"] for manifest in manifests.values()} == {"doubled", "twice", "again"}
    assert {f"sources/{item.digest}.zip" for item in items} < aws.s3.objects.keys()
    before, uploads = dict(aws.s3.objects), aws.s3.calls.count("CreateMultipartUpload")
    run_json(*arguments, *NO_LOAD)
    assert aws.s3.objects == before
    assert aws.s3.calls.count("CreateMultipartUpload") == uploads


def test_error_of_this_program_is_one_of_the_model(
    aws: FakeAws, doubled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publish(*_: object, **__: object) -> None:
        raise KeyError("shape")

    monkeypatch.setattr("model_build.commands.build_list.publish", publish)
    errors = run_main(
        main, *store_list(aws, [make_item(aws, doubled)]), *NO_LOAD, code=1
    ).stderr.splitlines()
    assert errors[-1] == "error: doubled: KeyError: 'shape'"
    assert "Traceback (most recent call last):" in errors


@pytest.mark.parametrize(
    ("option", "value", "code", "message"),
    [
        ("--digest", "0a1b", 1, "s3://bucket/prod/list.jsonl has the SHA-256 "),
        ("--lines", "1-2", 1, "s3://bucket/prod/list.jsonl has only 1 lines"),
        ("--lines", "one", 2, "argument --lines: 'one': write lines such as 1-50,60"),
    ],
)
def test_wrong_list_or_line_is_an_error(
    option: str, value: str, code: int, message: str, aws: FakeAws, three: list[Path]
) -> None:
    arguments = store_list(aws, [make_item(aws, three[0])])
    arguments[arguments.index(option) + 1] = value
    assert fail(*arguments, *NO_LOAD, code=code).startswith(message)
