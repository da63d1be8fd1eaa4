"""Comparison of a model's outputs with the outputs in config.pbtxt."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from model_build.declared_outputs import declared_outputs
from model_build.export.gate import OutputTensor
from model_build.repository import Repository
from tests.unit.model_build.conftest import write_files

CONFIG = """\
backend: "python"
max_batch_size: 8
output [
  { name: "Y" data_type: TYPE_FP32 dims: [ 3 ] },
  { name: "LABEL" data_type: TYPE_STRING dims: [ 1 ] reshape { shape: [ ] } }
]
"""
Y = OutputTensor("Y", "FP32", (2, 3))
LABEL = OutputTensor("LABEL", "BYTES", (2, 1))


def problems(*outputs: OutputTensor, config: str = CONFIG, backend: str | None = None) -> list[str]:
    with TemporaryDirectory() as folder:
        repository = Repository.read(write_files(Path(folder), {"m/config.pbtxt": config}))
        findings = declared_outputs(repository.models["m"], outputs, batch=2, backend=backend)
        return [str(finding).removeprefix(f"{folder}/") for finding in findings]


@pytest.mark.parametrize(
    ("outputs", "problem"),
    [
        ([Y, LABEL], []),
        ([Y],
         ['m/config.pbtxt:5:5: output "LABEL" is declared, but the model returns Y: return '
          "it, or remove it here [declared_outputs]"]),
    ],
    ids=["as declared", "missing output"],
)  # fmt: skip
def test_missing_output_is_reported_with_line(
    outputs: list[OutputTensor], problem: list[str]
) -> None:
    assert problems(*outputs) == problem


@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 3, 1), (1, 3)])
def test_shape_is_reported_with_line(shape: tuple[int, ...]) -> None:
    assert problems(Y._replace(shape=shape), LABEL) == [
        'm/config.pbtxt:4:36: output "Y" is declared [2, 3] with the batch axis, but the model '
        f"returns {list(shape)}: change dims, or the model [declared_outputs]"
    ]


def test_output_of_a_model_file_has_the_reshape_shape() -> None:
    # With a backend, the outputs are those of the model file, before Triton's reshape to dims.
    reshaped = LABEL._replace(shape=(2,))
    assert problems(Y, reshaped, backend="onnxruntime") == []
    assert len(problems(Y, reshaped)) == 1


def test_torchscript_outputs_are_matched_by_position() -> None:
    config = CONFIG.replace('"Y"', '"OUTPUT__1"').replace('"LABEL"', '"OUTPUT__0"')
    first, second = OutputTensor("label", "BYTES", (2,)), OutputTensor("y", "FP32", (2, 3))
    assert problems(first, second, config=config, backend="pytorch") == []
    assert len(problems(second, first, config=config, backend="pytorch")) == 4


def test_fil_removes_axes_of_size_1() -> None:
    config = 'backend: "fil"\nmax_batch_size: 8\noutput [ { name: "output__0" dims: [ 1 ] } ]\n'
    config = config.replace("dims", "data_type: TYPE_FP32 dims")
    assert problems(OutputTensor("output__0", "FP32", (2,)), config=config) == []
    assert (
        "but the model returns [2, 1]"
        in problems(OutputTensor("output__0", "FP32", (2, 1)), config=config)[0]
    )
