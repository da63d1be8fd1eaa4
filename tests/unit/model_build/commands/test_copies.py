import json
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from model_build import digest_of

if TYPE_CHECKING:
    from tests.unit.model_build.commands.conftest import Data, Fail, Succeed


def test_each_copy_is_an_archive_of_its_own_name(
    doubled: Path, tmp_path: Path, data_of: "Data"
) -> None:
    to = tmp_path / "copies"
    arguments = ("copies", doubled, "--count", 2, "--target", "cpu-24.09", "--output", to)
    version = digest_of(doubled)[:12]
    archives = [to / f"doubled-{number}-{version}.tar.gz" for number in (0, 1)]
    assert data_of(*arguments) == [str(path) for path in archives]
    assert len(list(to.iterdir())) == 4
    for number, path in enumerate(archives):
        with tarfile.open(path) as tar:
            folders = {name.partition("/")[0] for name in tar.getnames()}
        assert folders == {f"double-{number}", f"doubled-{number}"}
        manifest = json.loads(path.with_name(f"doubled-{number}-{version}.json").read_bytes())
        assert manifest["model"] == f"doubled-{number}"
        assert manifest["archive"]["bytes"] == path.stat().st_size


def test_people_are_told_each(doubled: Path, tmp_path: Path, succeed: "Succeed") -> None:
    said = succeed("copies", doubled, "--count=1", "--target=cpu-24.09", "--output", tmp_path)
    assert said == f"wrote {tmp_path}/doubled-0-{digest_of(doubled)[:12]}.tar.gz\n"


def test_a_number_of_copies_is_one_or_more(doubled: Path, fail: "Fail") -> None:
    told = fail("copies", doubled, "--count=0", "--target=cpu-24.09", "--output=o", code=2)
    assert told == "argument --count: '0' is no number of copies: write 1 or more"
