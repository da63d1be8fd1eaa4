from pathlib import Path

import pytest

from model_build import Place


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Place(Path("a/config.pbtxt"), 3, 7), "a/config.pbtxt:3:7"),
        (Place(Path("a/config.pbtxt"), 3), "a/config.pbtxt:3"),
        (Place(Path("a")), "a"),
        (Place(Path("/other/a"), 1, 1), "/other/a:1:1"),
    ],
)
def test_place_is_printed_as_file_line_and_column(place: Place, text: str) -> None:
    assert str(place) == text


def test_place_in_the_working_directory_is_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(Place(tmp_path / "a" / "config.pbtxt", 2)) == "a/config.pbtxt:2"
    assert str(Place(tmp_path.parent / "a", 2)) == f"{tmp_path.parent}/a:2"
