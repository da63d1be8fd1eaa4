from pathlib import Path

import pytest

from model_build import Location


def test_location_is_printed_as_file_line_and_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for location, text in (
        (Location(Path("a/config.pbtxt"), 3, 7), "a/config.pbtxt:3:7"),
        (Location(tmp_path / "a/config.pbtxt", 3), "a/config.pbtxt:3"),
        (Location(Path("a")), "a"),
        (Location(tmp_path.parent / "a", 1, 1), f"{tmp_path.parent}/a:1:1"),
    ):
        assert str(location) == text
