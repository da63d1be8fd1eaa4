from pathlib import Path

import pytest

from model_build import Place


@pytest.mark.parametrize(
    ("place", "written"),
    [
        (Place(Path("a/config.pbtxt"), 3, 7), "a/config.pbtxt:3:7"),
        (Place(Path("a/config.pbtxt"), 3), "a/config.pbtxt:3"),
        (Place(Path("a")), "a"),
        (Place(Path("/elsewhere/a"), 1, 1), "/elsewhere/a:1:1"),
    ],
)
def test_a_place_is_written_as_editors_open_it(place: Place, written: str) -> None:
    assert str(place) == written


def test_a_place_below_the_working_directory_is_relative_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(Place(tmp_path / "a" / "config.pbtxt", 2)) == "a/config.pbtxt:2"
    assert str(Place(tmp_path.parent / "a", 2)) == f"{tmp_path.parent}/a:2"
