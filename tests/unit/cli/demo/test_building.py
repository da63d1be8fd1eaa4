import os
from pathlib import Path

from cli.demo.building import TAIL_BYTES, newest_line


def build(builds: Path, name: str, log: str, *, at: int) -> None:
    path = builds / name / "build.log"
    path.parent.mkdir()
    path.write_text(log)
    os.utime(path, (at, at))


def test_the_newest_build_says_what_it_does(tmp_path: Path) -> None:
    build(tmp_path, "new", "exporting\n\npacking\n[Container] Phase complete: BUILD\n", at=2)
    build(tmp_path, "old", "done\n", at=1)
    assert newest_line(tmp_path) == "packing"


def test_of_a_long_log_the_end_is_read(tmp_path: Path) -> None:
    build(tmp_path, "new", "\u00e9" * TAIL_BYTES + "\nlast\n", at=1)
    assert newest_line(tmp_path) == "last"


def test_before_a_build_has_printed_it_says_nothing(tmp_path: Path) -> None:
    assert newest_line(tmp_path / "none") == ""
    build(tmp_path, "new", "[Container] Waiting for agent ping\n", at=1)
    assert newest_line(tmp_path) == ""
