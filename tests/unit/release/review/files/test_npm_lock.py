"""What npm installs, and no template shows."""

import json
from pathlib import Path
from typing import Any

import pytest

from release.review.files.file_review import compare_files

ENTRY = {"version": "2.1", "integrity": "sha512-good", "bin": {"cdk": "bin/cdk"}}
ROOT = Path(__file__).parents[5]


def messages(before: Any, after: Any) -> list[str]:
    sides = ({"package-lock.json": json.dumps({"packages": it}).encode()} for it in (before, after))
    dangers = compare_files(*sides).dangers
    return [danger.message.removeprefix("package-lock.json: ") for danger in dangers]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": "2.2"}, "2.1 (sha512-good) -> 2.2 (sha512-good)"),
        ({"integrity": "sha512-evil"}, "2.1 (sha512-good) -> 2.1 (sha512-evil)"),
        (
            {"resolved": "https://example.com/cdk.tgz"},
            "2.1 (sha512-good) -> 2.1 from https://example.com/cdk.tgz (sha512-good)",
        ),
        ({"hasInstallScript": True}, "2.1 (sha512-good) -> 2.1 (sha512-good)"),
    ],
)
def test_any_change_of_a_locked_package_is_a_danger(change: dict[str, Any], said: str) -> None:
    name = "node_modules/aws-cdk"
    assert messages({"": {}, name: ENTRY}, {"": {}, name: ENTRY}) == []
    assert messages({name: ENTRY}, {name: {**ENTRY, **change}}) == [f"not compared: aws-cdk {said}"]


def test_a_new_package_and_a_lock_of_another_form_are_dangers() -> None:
    new = messages({}, {"node_modules/evil": ENTRY})
    assert new == ["not compared: evil none -> 2.1 (sha512-good)"]
    assert messages({}, ["evil"])


def test_the_lock_has_the_content_of_each_package_and_names_no_place() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    for name, entry in packages.items():
        assert not name or entry["integrity"].startswith("sha512-"), name
        assert "resolved" not in entry, name
