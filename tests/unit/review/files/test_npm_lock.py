"""Changes of package-lock.json, which templates do not show."""

import json
from pathlib import Path
from typing import Any

import pytest

from review.files.file_review import compare_files

ENTRY = {"version": "2.1", "integrity": "sha512-good", "bin": {"cdk": "bin/cdk"}}
ROOT = Path(__file__).parents[4]


def messages(before: Any, after: Any) -> list[str]:
    sides = (
        {"package-lock.json": json.dumps({"packages": side}).encode()} for side in (before, after)
    )
    dangers = compare_files(*sides).dangers
    return [danger.message.removeprefix("package-lock.json: ") for danger in dangers]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"version": "2.2"}, "version: 2.1 -> 2.2"),
        ({"integrity": "sha512-evil"}, "integrity: sha512-good -> sha512-evil"),
        ({"resolved": "https://example.com/a"}, "resolved: none -> https://example.com/a"),
        ({"hasInstallScript": True}, "hasInstallScript: none -> true"),
    ],
)
def test_changed_locked_package_is_a_danger(change: dict[str, Any], line: str) -> None:
    name = "node_modules/aws-cdk"
    assert messages({"": {}, name: ENTRY}, {"": {}, name: ENTRY}) == []
    (message,) = messages({name: ENTRY}, {name: {**ENTRY, **change}})
    assert message == f"packages.{name}.{line}"


def test_new_package_and_invalid_lock_are_dangers() -> None:
    (message,) = messages({}, {"node_modules/evil": ENTRY})
    assert message == "packages.node_modules/evil.version: none -> 2.1 (and 2 more)"
    assert messages({}, ["evil"])


def test_lock_has_hashes_and_no_urls() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    for name, entry in packages.items():
        assert not name or entry["integrity"].startswith("sha512-"), name
        assert "resolved" not in entry, name
