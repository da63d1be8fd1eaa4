import json
import re
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import model_build
from model_build import digest_of
from model_build.__main__ import main
from model_build.source import all_models

if TYPE_CHECKING:
    from tests.unit.model_build.fakes import FakeS3

ROOT = Path(model_build.__file__).parents[1]
KEY = "text/cpu-24.09/doubled.tar.gz"


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def client(service: str) -> None:
        pytest.fail(f"a client of {service} was made")

    monkeypatch.setattr("boto3.client", client)


@pytest.fixture
def bucket(s3: "FakeS3", monkeypatch: pytest.MonkeyPatch) -> "FakeS3":
    monkeypatch.setattr("boto3.client", {"s3": s3.client}.__getitem__)
    return s3


def _usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    return capsys.readouterr().err.splitlines()[-1].partition("error: ")[2]


def test_the_shipped_models_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["list"]) == 0
    rows = [re.split("  +", line, maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert [name for name, *_ in rows] == [it.name for it in all_models(ROOT / "models")]
    assert [
        "minilm",
        digest_of(ROOT / "models" / "minilm")[:12],
        "Sentences to 384-dimensional embeddings (tokenizer, all-MiniLM-L6-v2, mean pooling)",
    ] in rows


def test_the_models_of_another_folder_are_listed(
    doubled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", str(doubled.parent)]) == 0
    digest = digest_of(doubled)[:12]
    assert capsys.readouterr().out == f"{'doubled':20} {digest}  Twice a number\n"


def test_a_listing_of_a_broken_model_fails_with_its_line(
    doubled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(doubled.parent.parent)
    (doubled / "recipe.yaml").write_text("description: x\nfile: {}\n")
    assert main(["list"]) == 1
    assert capsys.readouterr().err == (
        "error: models/doubled/recipe.yaml:2: file: unknown key; write files\n"
    )


def test_a_build_writes_archive_and_manifest_into_the_folder_asked_for(
    doubled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = tmp_path / "some" / "where"
    assert main(["build", str(doubled), "--target", "cpu-24.09", "--output", str(to)]) == 0
    name = f"doubled-{digest_of(doubled)[:12]}"
    assert sorted(path.name for path in to.iterdir()) == [f"{name}.json", f"{name}.tar.gz"]
    manifest = json.loads((to / f"{name}.json").read_text())
    assert manifest["archive"]["bytes"] == (to / f"{name}.tar.gz").stat().st_size
    assert tarfile.is_tarfile(to / f"{name}.tar.gz")
    captured = capsys.readouterr()
    assert captured.out == f"wrote {to}/{name}.tar.gz\n"
    assert captured.err.endswith(f"packing {to}/{name}.tar.gz\n")


def test_a_model_takes_another_name_where_its_folder_is_not_called_so(
    doubled: Path, tmp_path: Path
) -> None:
    folder = doubled.rename(tmp_path / "model")
    command = ["build", str(folder), "--target", "cpu-24.09", "--output", str(tmp_path / "out")]
    assert main([*command, "--name", "twice"]) == 0
    (manifest,) = (tmp_path / "out").glob("twice-*.json")
    assert json.loads(manifest.read_text())["model"] == "twice"


def test_a_model_is_named_by_its_folder_however_that_is_written(
    doubled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(doubled / "double")
    for written in ("..", f"../../{doubled.name}", str(doubled)):
        out = tmp_path / "out" / written.replace("/", "_")
        assert main(["build", written, "--target", "cpu-24.09", "--output", str(out)]) == 0
        (manifest,) = out.glob("doubled-*.json")
        assert json.loads(manifest.read_text())["model"] == "doubled"
    monkeypatch.chdir(doubled)
    assert main(["build", ".", "--target", "cpu-24.09", "--output", str(tmp_path / "here")]) == 0
    assert len(list((tmp_path / "here").glob("doubled-*.json"))) == 1


@pytest.mark.parametrize(
    "where", [["--bucket", "bucket"], ["--output", "o", "--key", KEY]], ids=["bucket", "key"]
)
def test_a_bucket_and_a_key_are_given_together(
    doubled: Path, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = _usage_error(["build", str(doubled), "--target", "cpu-24.09", *where], capsys)
    assert found == "write --bucket and --key together"


def test_a_listing_of_no_folder_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _usage_error(["list", "nowhere"], capsys) == "argument FOLDER: nowhere is not a folder"


def test_a_build_of_all_models_at_once_is_told_which_there_are(
    doubled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(doubled.parent.parent)
    found = _usage_error(["build", "models", "--target", "cpu-24.09", "--output", "."], capsys)
    assert found == "argument MODEL: models is not a model; models in it: models/doubled"


def test_a_build_into_the_bucket_publishes_once_and_then_builds_nothing(
    doubled: Path, bucket: "FakeS3", capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["build", str(doubled), "--target", "cpu-24.09", "--bucket", "bucket", "--key", KEY]
    command += ["--digest", digest_of(doubled)]
    assert main(command) == 0
    assert set(bucket.objects) == {KEY, KEY.replace(".tar.gz", ".json")}
    assert capsys.readouterr().out == f"published s3://bucket/{KEY}\n"
    before = dict(bucket.objects)
    assert main(command) == 0
    assert capsys.readouterr().out == f"s3://bucket/{KEY} is there already: nothing to build\n"
    assert bucket.objects == before


def test_other_bytes_in_the_bucket_fail_the_build(
    doubled: Path, bucket: "FakeS3", capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.objects[KEY] = {"Body": b"other"}
    command = ["build", str(doubled), "--target", "cpu-24.09", "--bucket", "bucket", "--key", KEY]
    assert main(command) == 1
    assert f"error: s3://bucket/{KEY} holds other bytes (sha256 " in capsys.readouterr().err


def test_another_digest_than_the_planned_one_is_refused(
    doubled: Path, bucket: "FakeS3", capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["build", str(doubled), "--target", "cpu-24.09", "--bucket", "bucket", "--key", KEY]
    assert main([*command, "--digest", "abc"]) == 1
    assert capsys.readouterr().err == (
        f"error: {doubled} has digest {digest_of(doubled)}, asked for is abc: the source is not "
        "the one that was planned. Deploy again from a clean checkout\n"
    )
    assert bucket.calls == []


def test_packages_for_a_release_whose_python_nobody_knows_are_refused(
    doubled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (doubled / "recipe.yaml").write_text(
        "description: x\nfiles:\n"
        "  double/1/packages: { to: python-packages, requirements: double/requirements.txt }\n"
    )
    to = str(tmp_path / "out")
    assert main(["build", str(doubled), "--target", "cpu-24.03", "--output", to]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error == "error: the Python version of Triton 24.03 is not known"


def test_a_broken_repository_fails_the_build_with_every_finding(
    doubled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("double", "doubled"):
        path = doubled / name / "config.pbtxt"
        path.write_text(path.read_text().replace(f'name: "{name}"', 'name: "other"'))
    assert main(["build", str(doubled), "--target", "cpu-24.09", "--output", str(tmp_path)]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == (
        f'error: {doubled}/double/config.pbtxt:3:1: name is "other", the directory is double: '
        'write name: "double" [model_names]'
    )
    assert second.startswith(f'{doubled}/doubled/config.pbtxt:2:1: name is "other"')


def test_a_folder_that_is_no_model_is_refused_with_those_that_are(
    doubled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(doubled.parent.parent)
    command = ["--target", "cpu-24.09", "--output", "."]
    for written in ("models/dubled", "model/dubled"):
        assert _usage_error(["build", written, *command], capsys) == (
            "argument MODEL: no model 'dubled' in models; models are doubled"
        )


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (
            "cpu",
            "argument --target: 'cpu' is not a build target: write cpu-RELEASE or "
            "cuda-RELEASE-smCAPABILITY, for example cpu-24.09 or cuda-25.09-sm86",
        ),
        (
            "cuda-25.10-sm86",
            'argument --target: no SageMaker Triton release "25.10": did you mean 25.09 or ',
        ),
    ],
)
def test_a_target_that_does_not_exist_is_refused(
    doubled: Path, target: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = _usage_error(["build", str(doubled), "--target", target, "--output", "."], capsys)
    assert found.startswith(told)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ([], "one of the arguments --output --bucket is required"),
        (
            ["--output", "o", "--bucket", "b"],
            "argument --bucket: not allowed with argument --output",
        ),
    ],
)
def test_a_build_goes_to_one_place(
    doubled: Path, where: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = _usage_error(["build", str(doubled), "--target", "cpu-24.09", *where], capsys)
    assert found == told
