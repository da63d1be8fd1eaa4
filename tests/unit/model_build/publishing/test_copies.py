from pathlib import Path

import pytest

from model_build import model_config
from model_build.build import Build
from model_build.publishing.copies import numbered


def _texts(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_copy_and_all_its_parts_have_names_of_their_own(built: Build) -> None:
    with numbered(built, "7") as copy:
        assert copy.name == "doubled-7"
        assert list(copy.repository.models) == ["double-7", "doubled-7"]
        assert copy.repository.entry.name == "doubled-7"
        configs = {name: model.config for name, model in copy.repository.models.items()}
        assert configs["double-7"].name == "double-7"
        assert configs["doubled-7"].name == ""  # SageMaker names the entry after its archive
        (step,) = configs["doubled-7"].ensemble_scheduling.step
        assert step.model_name == "double-7"
        assert dict(step.input_map) == {"X": "X"}
        assert (copy.digest, copy.target, copy.gates) == (built.digest, built.target, built.gates)


def test_what_is_packed_says_the_same_as_what_was_read(built: Build) -> None:
    with numbered(built, "7") as copy:
        for name, model in copy.repository.models.items():
            assert model_config.read(copy.folder / name / "config.pbtxt") == model.config


def test_the_original_stays_as_it_is(built: Build) -> None:
    before = _texts(built.folder)
    with numbered(built, "7"), numbered(built, "8"):
        assert _texts(built.folder) == before
    assert _texts(built.folder) == before


def test_other_files_are_the_originals_and_take_no_room(built: Build) -> None:
    with numbered(built, "7") as copy:
        ours, theirs = copy.folder / "double-7/1/model.py", built.folder / "double/1/model.py"
        assert ours.read_bytes() == theirs.read_bytes()
        assert ours.samefile(theirs)
        assert (copy.folder / "doubled-7" / "1").is_dir()  # an ensemble's version, though empty


def test_across_file_systems_files_are_copied(
    built: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    with numbered(built, "7") as copy:
        ours, theirs = copy.folder / "double-7/1/model.py", built.folder / "double/1/model.py"
        assert ours.read_bytes() == theirs.read_bytes()
        assert not ours.samefile(theirs)


def test_a_copys_folder_is_gone_after_the_block(built: Build) -> None:
    with numbered(built, "7") as copy:
        folder = copy.folder
    assert not folder.exists()
    assert built.folder.exists()
