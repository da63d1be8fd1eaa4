"""Builds load their archive into a real Triton before they publish it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.prerequisites import find_triton
from local_sagemaker.tests.support import tiny_models
from model_build import BuildError, BuildTarget, ModelFolder, triton_load
from model_build.__main__ import main
from model_build.archive import pack
from model_build.build import build as build_repository
from model_build.formats import FORMATS
from tests.unit.model_build.fakes import ProgressLines, no_engines
from tests.unit.test_repository import ROOT

CONFIG = tiny_models.CONFIG.replace("[ 1 ]", "[ -1 ]")
SPY = """
import glob
import os

def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""

environments = [path for path in glob.glob("/proc/[0-9]*/environ") if b"SECRET" in read(path)]
raise RuntimeError(f"user {os.getuid()} {environments} {[n for n in os.environ if 'AWS' in n]}")
"""


def write_model(folder: Path, *, config: str = CONFIG, top: str = "", execute: str = "") -> Path:
    """Write a Python model; `top` is code of the module, `execute` a statement of `execute`."""
    get = 'pb_utils.get_input_tensor_by_name(each, "X")'
    execute = execute or f"assert all({get}.as_numpy().shape == (1, 1) for each in requests)"
    code = f"{top}\n{tiny_models.times(2, execute=execute)}"
    return tiny_models.write(folder, {"double/config.pbtxt": config, "double/1/model.py": code})


one_triton = pytest.mark.usefixtures("_one_triton")


def build(model: Path, *, target: str = "cpu-24.09", code: int = 0) -> dict[str, Any]:
    """Run the command, which must exit with `code`; return `load` of the manifest."""
    output = model.parent / "out"
    assert main(["build", str(model), "--target", target, "--output", str(output)]) == code
    manifests = list(output.glob("*.json"))
    assert bool(manifests) is bool([*output.glob("*.tar.gz")]) is not code
    load: dict[str, Any] = json.loads(manifests[0].read_text())["load"] if manifests else {}
    return load


@pytest.fixture(scope="module")
def _module_triton() -> Iterator[triton_load._Triton]:
    with triton_load._Triton() as triton:
        yield triton


@pytest.fixture
def _one_triton(_module_triton: triton_load._Triton, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let builds share a Triton."""
    monkeypatch.setattr(triton_load, "_Triton", lambda: nullcontext(_module_triton))


@one_triton
def test_manifest_names_the_triton_that_loaded_the_archive(tmp_path: Path) -> None:
    record = build(write_model(tmp_path / "model"))
    python = find_triton().model_python.version
    assert record["triton"].startswith("2.")
    assert (record["python"], record["request"], record["rejection"]) == (python, "zeros", None)
    assert (record["not_loaded"], record["stand_ins"]) == (None, {})


@one_triton
def test_rejected_request_of_zeros_is_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute = 'raise ValueError("X must be positive")'
    record = build(write_model(tmp_path / "model", execute=execute))
    assert record["request"] is None
    assert record["rejection"].endswith("message: ValueError: X must be positive")
    assert "warning: loaded into Triton" in capsys.readouterr().err


@one_triton
@pytest.mark.parametrize(
    ("expected", "differences"), [(4, []), (5, ["Y: expected 5, got 4; allowed difference 2 %"])]
)
def test_answer_is_compared_with_the_golden_file(
    expected: float, differences: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_model(tmp_path / "model") / "tests" / "golden.json"
    file.parent.mkdir()
    inputs = {"X": {"datatype": "FP32", "shape": [1, 1], "data": [2]}}
    outputs = {"Y": {"shape": [1, 1], "data": [expected]}}
    file.write_text(json.dumps({"inputs": inputs, "outputs": outputs}))
    record = build(tmp_path / "model")
    assert record["request"] == "tests/golden.json"
    assert record["differences"] == differences
    warning = f"other answer than in tests/golden.json: {''.join(differences)}"
    assert (warning in capsys.readouterr().err) is bool(differences)


@one_triton
def test_sequence_is_sent_to_a_stateful_model(tmp_path: Path) -> None:
    config = CONFIG + "sequence_batching { }\n"
    assert build(write_model(tmp_path / "model", config=config))["request"] == "zeros"


@one_triton
def test_gpu_model_is_loaded_with_a_configuration_for_a_cpu(tmp_path: Path) -> None:
    config = CONFIG + "instance_group [ { kind: KIND_GPU } ]\n"
    model = write_model(tmp_path / "model", config=config)
    assert build(model, target="cuda-24.09-sm86")["request"] == "zeros"


def test_model_that_triton_does_not_load_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(write_model(tmp_path / "model", top='raise RuntimeError("no weights")'), code=1)
    error = capsys.readouterr().err
    assert "does not load model: Triton cannot load the model" in error
    assert "RuntimeError: no weights" in error


def test_model_without_responses_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(write_model(tmp_path / "model", execute="return print()"), code=1)
    assert "has executed the request without a response" in capsys.readouterr().err


def test_model_that_needs_a_gpu_is_not_loaded(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model", top='raise RuntimeError("Found no NVIDIA driver")')
    reason = build(model, target="cuda-24.09-sm86")["not_loaded"]
    assert reason.startswith("it needs a GPU: ")
    assert "Found no NVIDIA driver" in reason


def test_native_code_for_another_python_is_not_loaded(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model", top="import scorer")
    (model / "double" / "1" / "scorer.cpython-39-x86_64-linux-gnu.so").touch()
    assert build(model)["not_loaded"].startswith("it has code for Python 3.10, and builds have ")


def test_reason_of_the_recipe_is_recorded(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model", top='raise RuntimeError("no licence")')
    reason = "its licence server answers only in the VPC"
    (model / "recipe.yaml").write_text(f"description: x\nload: {{ skip: {reason} }}\n")
    assert build(model)["not_loaded"] == reason


def test_triton_sees_nothing_of_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
    build(write_model(tmp_path / "model", top=SPY), code=1)
    assert "[] []" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run Triton as another user")
@pytest.mark.parametrize(
    ("folder", "mode", "code", "message"),
    [
        (Path.home(), 755, 1, "RuntimeError: user 65534 [] []"),
        (sys.prefix, 700, 0, "not loaded into Triton: this kernel grants no namespaces, "),
    ],
)
def test_model_never_runs_as_root_without_namespaces(
    tmp_path: Path, folder: Path, mode: int, code: int, message: str
) -> None:
    # As in CodeBuild: root, and no namespaces. There, nobody can read the image's Python.
    model = write_model(tmp_path / "model", top=SPY)
    copy = tmp_path / "copy"
    copy.mkdir()
    script = f"""
        set -e
        mount --bind /bin/false "$(command -v unshare)"
        mount --bind {folder} {copy}
        mount -t tmpfs -o mode={mode} none {folder}
        for name in $(ls -A {copy}); do
            if [ -d {copy}/$name ]; then
                mkdir {folder}/$name
                mount --bind {copy}/$name {folder}/$name
            else
                cp -P {copy}/$name {folder}/$name
            fi
        done
        exec {sys.executable} -m model_build build {model} --target cpu-24.09 --output {tmp_path}
    """
    process = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        cwd=ROOT,
        env={**os.environ, "AWS_SECRET_ACCESS_KEY": "SECRET"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == code, process.stderr
    assert message in process.stdout + process.stderr


def test_formats_that_builds_load_are_those_of_the_local_triton() -> None:
    loaded = {format_.backend for format_ in FORMATS if format_.loads_in_builds}
    stand_ins = (ROOT / "local_sagemaker/hosting/backends").glob("*/model.py")
    assert loaded == {"python", *(file.parent.name for file in stand_ins)}


def test_one_triton_loads_several_archives_and_another_follows_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tops = {"first": "", "second": "", "broken": "raise RuntimeError", "third": ""}
    starts, popen = list[Any](), subprocess.Popen

    def start(command: Any, **options: Any) -> Any:
        starts.append(command)
        return popen(command, **options)

    answers = dict[str, bool]()
    with ExitStack() as stack:
        load_archive = stack.enter_context(triton_load.loader(None))
        for name, top in tops.items():
            finished = stack.enter_context(
                build_repository(
                    ModelFolder(write_model(tmp_path / name, top=top)).model(),
                    name=name,
                    target=BuildTarget(release="24.09"),
                    progress=ProgressLines(),
                    engines=no_engines(),
                )
            )
            archive = tmp_path / f"{name}.tar.gz"
            pack(finished.folder, archive)
            monkeypatch.setattr(subprocess, "Popen", start)
            try:
                record = load_archive(finished, archive, ProgressLines())
                answers[name] = record.request == "zeros"
            except BuildError:
                answers[name] = False
            monkeypatch.setattr(subprocess, "Popen", popen)
    assert answers == {"first": True, "second": True, "broken": False, "third": True}
    assert len(starts) == 2
