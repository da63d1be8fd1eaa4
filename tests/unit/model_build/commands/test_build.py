from pathlib import Path

from tests.unit.model_build.commands.conftest import NO_LOAD, fail

TARGET = ("--target", "cpu-24.09", *NO_LOAD)


def test_output_that_cannot_be_made_is_one_line(doubled: Path) -> None:
    message = fail("build", doubled, *TARGET, "--output", "/dev/null/x")
    assert message == "--output /dev/null/x: Not a directory: write a folder that you may write to"
