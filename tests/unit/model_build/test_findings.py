from pathlib import Path

import pytest

from model_build import Location


@pytest.mark.parametrize(
    ("location", "text"),
    [
        (Location(Path("a/config.pbtxt"), 3, 7), "a/config.pbtxt:3:7"),
        (Location(Path("a/config.pbtxt"), 3), "a/config.pbtxt:3"),
        (Location(Path("a")), "a"),
        (Location(Path("/other/a"), 1, 1), "/other/a:1:1"),
    ],
)
def test_location_is_printed_as_file_line_and_column(location: Location, text: str) -> None:
    assert str(location) == text


def test_location_in_the_working_directory_is_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(Location(tmp_path / "a" / "config.pbtxt", 2)) == "a/config.pbtxt:2"
    assert str(Location(tmp_path.parent / "a", 2)) == f"{tmp_path.parent}/a:2"
