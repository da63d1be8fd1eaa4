"""Tests of `tritonsm new model`."""

import shlex
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, TypeProto, helper, numpy_helper

from cli import new_model
from cli.__main__ import main
from cli.errors import CommandError
from model_build import checks
from model_build.checked_model import check_model
from model_build.source import ModelFolder
from plan import golden
from tests.unit.test_repository import ROOT


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


@pytest.mark.parametrize("kind", new_model.KINDS)
def test_new_model_has_no_lint_findings_and_a_sample(kind: str, models: Path) -> None:
    folder = new_model.write("my-own", kind, models=models)
    assert [*models.iterdir()] == [folder]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in files if new_model.PLACEHOLDER in f"{path}{path.read_text()}"]
    sources = list(ModelFolder(folder).models())
    assert [finding for source in sources for finding in checks.lint(source)] == []
    plan = check_model(ModelFolder(folder).model())
    assert plan.entry == "my-own"
    sample = golden.Golden.read(folder / golden.FILE)
    assert [tensor.name for tensor in plan.signature.inputs] == [*sample.inputs]
    assert [output.name for output in plan.signature.outputs] == [*sample.outputs]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("My_Model", "write 2 to 32 lowercase letters, digits and hyphens"),
        ("../up", "write 2 to 32 lowercase letters, digits and hyphens"),
        ("net", "net already exists"),
        ("net-onnx", "net-onnx is already an alternative of a model"),
    ],
)
def test_invalid_name_is_an_error(models: Path, name: str, message: str) -> None:
    new_model.write("net", "pytorch", models=models)
    with pytest.raises(CommandError, match=message):
        new_model.write(name, "onnx", models=models)
    assert [path.name for path in models.iterdir()] == ["net"]


def test_pytorch_template_has_the_requirements_of_resnet50() -> None:
    file = "requirements-export.txt"
    template, shipped = new_model.TEMPLATES / "pytorch" / file, ROOT / "models" / "resnet50" / file
    assert template.read_text() == shipped.read_text()


def _run(monkeypatch: pytest.MonkeyPatch, models: Path, *arguments: str) -> int:
    """Run `tritonsm new` beside the folder of models."""
    monkeypatch.chdir(models.parent)
    return main(["new", *arguments])


def _save_onnx(
    path: Path, *, batch: str | int, external: bool = False, scores: bool = False
) -> None:
    kind, shape = TensorProto.FLOAT, (batch, 3)
    sequence = helper.make_value_info("scores", helper.make_sequence_type_proto(TypeProto()))
    weights = numpy_helper.from_array(np.ones((1, 3), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Add", ["X", "w"], ['a "Y"'])],
        "graph",
        [helper.make_tensor_value_info("X", kind, shape)],
        [helper.make_tensor_value_info('a "Y"', kind, shape), *([sequence] if scores else [])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path, save_as_external_data=external, location="weights.bin", size_threshold=0)


def _save_torchscript(path: Path) -> None:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        torch.jit.script(Net()).save(path)  # type: ignore[no-untyped-call]


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * mask, x.sum(-1)


TREES = {
    "lgb.txt": "tree\nnum_class=1\nmax_feature_idx=6\nobjective=binary sigmoid:1\nTree=0\n",
    "xgb.json": '{"learner": {"learner_model_param": {"num_feature": "5", "num_class": "3"}}, '
    '"version": [3, 0, 0]}',
}


def test_links_named_as_weights_are_refused(
    models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = models.parent / "a.onnx"
    _save_onnx(path, batch="n", external=True)
    weights = models.parent / "weights.bin"
    weights.symlink_to(weights.rename(models.parent / "target"))
    assert _run(monkeypatch, models, "model", "churn", f"--from={path}") == 1
    assert f"its weights are a link, {weights}: " in capsys.readouterr().err
    assert not (models / "churn").exists()


@pytest.mark.parametrize(
    ("file", "options", "inputs", "outputs", "max_batch_size"),
    [
        ("any.onnx", (), {"X": [-1, 3]}, {'a "Y"': [-1, 3]}, 4),
        ("fixed.onnx", (), {"X": [2, 3]}, {'a "Y"': [2, 3]}, 0),
        ("lgb.txt", (), {"input__0": [-1, 7]}, {"output__0": [-1, 1]}, 32768),
        ("xgb.json", (), {"input__0": [-1, 5]}, {"output__0": [-1, 3]}, 32768),
        ("net.pt", (*("--input=x:FP32:-1,4", "--input=mask:fp32:-1,4"),
          *("--output=OUTPUT__0:FP32:-1,4", "--output=OUTPUT__1:FP32:-1")),
         {"x": [-1, 4], "mask": [-1, 4]}, {"OUTPUT__0": [-1, 4], "OUTPUT__1": [-1, 1]}, 4),
    ],
)  # fmt: skip
def test_config_and_request_are_written_from_a_model_file(
    models: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    options: tuple[str, ...],
    inputs: dict[str, list[int]],
    outputs: dict[str, list[int]],
    max_batch_size: int,
) -> None:
    path = models.parent / file
    if path.suffix == ".onnx":
        _save_onnx(path, batch="n" if file == "any.onnx" else 2, external=True)
    elif path.suffix == ".pt":
        _save_torchscript(path)
    else:
        path.write_text(TREES[file])
    assert _run(monkeypatch, models, "model", "churn", f"--from={path}", *options) == 0
    source = ModelFolder(models / "churn").model()
    assert checks.lint(source) == []
    signature = check_model(source).signature
    assert {tensor.name: tensor.shape for tensor in signature.inputs} == inputs
    assert {tensor.name: tensor.shape for tensor in signature.outputs} == outputs
    assert signature.max_batch_size == max_batch_size
    sample = golden.Golden.read(models / "churn" / golden.FILE)
    assert {name: [*array.shape] for name, array in sample.arrays().items()} == {
        name: [max(1, size) for size in shape] for name, shape in inputs.items()
    }
    assert (models / "churn/churn/1/weights.bin").is_file() == (path.suffix == ".onnx")


def test_command_of_the_finding_writes_the_missing_config(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _save_onnx(models / "auto/auto/1/model.onnx", batch="n")
    monkeypatch.chdir(models.parent)
    (finding,) = checks.lint(ModelFolder(Path("models/auto")).model())
    command = shlex.split(finding.message.split("`")[1])
    assert command[0] == "tritonsm"
    assert main(command[1:]) == 0
    assert checks.lint(ModelFolder(models / "auto").model()) == []


@pytest.mark.parametrize(
    ("file", "write", "advice"),
    [
        ("wine.pkl", Path.touch, "--kind python"),
        ("net.safetensors", Path.touch, "--kind pytorch"),
        ("xgb.ubj", Path.touch, ".json"),
        ("net.h5", Path.touch, "write the path of model.onnx"),
        ("net.pt", _save_torchscript, "add --input NAME:TYPE:SHAPE"),
        ("net.pt", partial(torch.save, Net().state_dict()), "was written by torch.save"),
        ("net.onnx", partial(_save_onnx, batch=2, scores=True), "scores is not a tensor"),
    ],
)
def test_file_that_declares_no_tensors_is_refused_with_advice(
    models: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    file: str,
    write: Callable[[Path], object],
    advice: str,
) -> None:
    path = models.parent / file
    write(path)
    assert _run(monkeypatch, models, "model", "net", "--from", str(path)) == 1
    assert advice in capsys.readouterr().err
    assert [*models.iterdir()] == []
