"""What the stand-ins for Triton's C++ backends refuse when they load a model, as those do."""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from local_sagemaker.hosting.backends import STAND_INS
from local_sagemaker.prerequisites import find_triton
from local_sagemaker.tests.real.test_stand_ins import onnx_file, script

Config = dict[str, Any]
Load = Callable[[str, Config, bytes], Any]

X = {"name": "X", "data_type": "TYPE_FP32", "dims": [2]}
Y = {"name": "Y", "data_type": "TYPE_FP32", "dims": [2]}
STRINGS = {"data_type": "TYPE_STRING"}


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """A function that loads a model with a stand-in, in this process."""
    folders = {folder.name: folder for folder in STAND_INS}
    monkeypatch.syspath_prepend(str(find_triton().root / "backends" / "python"))
    monkeypatch.syspath_prepend(str(folders["onnxruntime"].parent))

    def load_model(backend: str, config: Config, content: bytes) -> Any:
        spec = importlib.util.spec_from_file_location("model", folders[backend] / "model.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        model = module.TritonPythonModel()
        (tmp_path / "1").mkdir(exist_ok=True)
        (tmp_path / "1" / model.file).write_bytes(content)
        config = {"max_batch_size": 0, "input": [X], "output": [Y]} | config
        model.initialize(
            {
                "model_config": json.dumps(config),
                "model_name": "m",
                "model_repository": str(tmp_path),
                "model_version": "1",
            }
        )
        return model

    yield load_model
    for name in ("stand_in", "triton_python_backend_utils"):
        sys.modules.pop(name, None)


def identity(
    *,
    x: tuple[int, Any] = (TensorProto.FLOAT, [None]),
    y: tuple[int, Any] = (TensorProto.FLOAT, [None]),
    initializer: bool = False,
) -> bytes:
    return onnx_file(
        [helper.make_node("Identity", ["X"], ["Y"])],
        [helper.make_tensor_value_info("X", *x)],
        [helper.make_tensor_value_info("Y", *y)],
        [helper.make_tensor("X", TensorProto.FLOAT, [2], [1.0, 2.0])] if initializer else [],
    )


def zipmap_file() -> bytes:
    """Return a model with a sequence of maps, as scikit-learn's classifiers are converted."""
    node = helper.make_node("ZipMap", ["X"], ["Z"], domain="ai.onnx.ml", classlabels_int64s=[0, 1])
    identity = helper.make_node("Identity", ["X"], ["Y"])
    shape = [None, 2]
    z_type = helper.make_sequence_type_proto(
        helper.make_map_type_proto(
            TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, None)
        )
    )
    return onnx_file(
        [node, identity],
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, shape)],
        [
            helper.make_tensor_value_info("Y", TensorProto.FLOAT, shape),
            onnx.ValueInfoProto(name="Z", type=z_type),
        ],
    )


BF16 = {"data_type": "TYPE_BF16"}


def case_id(value: object) -> str | None:
    return "" if isinstance(value, bytes) else None


@pytest.mark.parametrize(
    ("config", "content", "message"),
    ids=case_id,
    argvalues=[
        ({"input": [X | BF16]}, identity(), "unsupported datatype TYPE_BF16 for input 'X'"),
        (
            {"input": [X | STRINGS]},
            identity(),
            "configuration expects datatype TYPE_STRING for input 'X', model provides TYPE_FP32",
        ),
        (
            {"output": [Y | {"data_type": "TYPE_FP64"}]},
            identity(),
            "configuration expects datatype TYPE_FP64 for output 'Y', model provides TYPE_FP32",
        ),
        ({"output": [Y | {"name": "Z"}]}, identity(), "unexpected inference output 'Z'"),
        ({"input": [X | {"name": "Z"}]}, identity(), "unexpected inference input 'Z'"),
        ({"input": []}, identity(), "expects 0 inputs, model provides 1"),
        ({"output": [Y | {"dims": [3]}]}, identity(), "tensor 'Y': the model expects shape"),
        ({"input": [X | {"dims": [2, 2]}]}, identity(), "tensor 'X': the model expects shape"),
        ({"input": [X]}, identity(x=(TensorProto.FLOAT, [])), "scalar tensor 'X' should only"),
        ({"max_batch_size": 4}, identity(x=(TensorProto.FLOAT, [1, 2])), "must be -1"),
        (
            {"input": [X | {"optional": True}], "max_batch_size": 4},
            identity(initializer=True),
            "optional input 'X' is not supported for models that support batching",
        ),
        (
            {"input": [X | {"allow_ragged_batch": True}]},
            identity(),
            "the local backend has no allow_ragged_batch",
        ),
        ({"batch_input": [{"kind": "BATCH_ELEMENT_COUNT"}]}, identity(), "has no batch_input"),
        ({"sequence_batching": {"state": [{}]}}, identity(), "has no state"),
        ({"model_transaction_policy": {"decoupled": True}}, identity(), "has no decoupled"),
        ({"model_operations": {"op_library_filename": ["a.so"]}}, identity(), "model_operations"),
        (
            {"input": [X | {"dims": [-1, 2]}], "output": [Y | {"dims": [-1, 2]}]},
            zipmap_file(),
            r"unsupported ONNX type seq\(map\(int64,tensor\(float\)\)\) of output 'Z'",
        ),
    ],
)
def test_onnx_refuses(load: Load, config: Config, content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load("onnxruntime", config, content)


class TwoInputs(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a - b


class Rest(torch.nn.Module):
    """Returns what the C++ backend does not take."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]:
        return x.double(), x.sum(), [x]


def torch_file(tmp_path: Path, module: torch.nn.Module) -> bytes:
    script(module).save(tmp_path / "file")
    return (tmp_path / "file").read_bytes()


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"input": [X]}, "configuration expects 1 inputs, model provides 2"),
        *(
            ({"input": [X | {"data_type": name}, X]}, f"unsupported datatype {name} for input 'X'")
            for name in ("TYPE_BF16", "TYPE_UINT16", "TYPE_UINT32", "TYPE_UINT64")
        ),
        ({"output": [Y | STRINGS], "max_batch_size": 4}, "1 dimensional List of String as output"),
        ({"input": [X | {"optional": True}, X]}, "optional input 'X' is not supported"),
        ({"input": [X | {"name": "A__1"}, X | {"name": "B__2"}]}, r"positions \[1, 2\]"),
    ],
)
def test_torch_refuses(load: Load, tmp_path: Path, config: Config, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load("pytorch", config, torch_file(tmp_path, TwoInputs()))


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Y__0", "expects datatype TYPE_FP32 for output 'Y__0', model provides TYPE_FP64"),
        ("Y__1", "output 'Y__1' is a scalar which is not supported"),
        ("Y__2", "output 'Y__2' must be of type Tensor or List"),
        ("Y__3", "The output Y__3 in the model configuration refers to an output index"),
    ],
)
def test_torch_fails_requests(load: Load, tmp_path: Path, name: str, message: str) -> None:
    model = load("pytorch", {"output": [Y | {"name": name}]}, torch_file(tmp_path, Rest()))
    with pytest.raises(ValueError, match=message):
        model.run({"X": np.zeros(2, np.float32)})
