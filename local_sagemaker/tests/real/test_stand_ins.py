"""Answers of the stand-ins for Triton's C++ backends, through Triton, against the framework itself.

FIL and DALI, whose packages are installed at their first model, are in models/test_stand_ins.py of
the repository.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper

from local_sagemaker.serving import ServingError, TritonServer, serve
from local_sagemaker.tests.support.raw_models import Arrays, invoke, write_archive

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

DATATYPES = {
    "BOOL": [True, False],
    "FP16": [1.5, np.nan, -np.inf],
    "FP32": [1.5, np.nan, -np.inf],
    "FP64": [1.5, np.nan, 1e300],
    **{f"INT{bits}": [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}": [0, 2**bits - 1] for bits in (8, 16, 32, 64)},
    "BYTES": ["", "ü€😀", "text"],
}
"""Triton's data types, with values at their limits."""
DTYPES = {"FP16": "float16", "FP32": "float32", "FP64": "float64", "BYTES": "object"}
TORCH_DATATYPES = [
    name for name in DATATYPES if name not in ("UINT16", "UINT32", "UINT64", "BYTES")
]
"""The data types of the pytorch backend (pytorch_backend, src/libtorch_utils.cc)."""
ONNX_TYPES = {
    "FP16": "FLOAT16",
    "FP32": "FLOAT",
    "FP64": "DOUBLE",
    "BYTES": "STRING",
}


def values(datatype: str) -> Any:
    return np.array(DATATYPES[datatype], DTYPES.get(datatype, datatype.lower()))


def tensor(name: str, datatype: str, dims: list[int], more: str = "") -> str:
    config_type = "STRING" if datatype == "BYTES" else datatype
    return f'{{ name: "{name}" data_type: TYPE_{config_type} dims: {dims} {more} }}'


def config(backend: str, inputs: list[str], outputs: list[str], *, max_batch_size: int = 0) -> str:
    return f"""
backend: "{backend}"
max_batch_size: {max_batch_size}
input [ {", ".join(inputs)} ]
output [ {", ".join(outputs)} ]
"""


def onnx_file(
    nodes: list[Any], inputs: list[Any], outputs: list[Any], initializers: Any = ()
) -> bytes:
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 2)]
    content: bytes = helper.make_model(
        graph, opset_imports=opsets, ir_version=8
    ).SerializeToString()
    return content


def onnx_value(name: str, datatype: str, shape: list[Any]) -> Any:
    element = getattr(TensorProto, ONNX_TYPES.get(datatype, datatype))
    return helper.make_tensor_value_info(name, element, shape)


class EachType(torch.nn.Module):
    """Returns its inputs, in another order."""

    def forward(self, b, f16, f32, f64, i8, i16, i32, i64, u8):  # type: ignore[no-untyped-def]
        return u8, b, f16, f32, f64, i8, i16, i32, i64


class Strings(torch.nn.Module):
    """Repeats texts, and returns their lengths."""

    def forward(self, texts: list[str], factor: torch.Tensor) -> tuple[torch.Tensor, list[str]]:
        lengths = torch.tensor([len(text) for text in texts], dtype=torch.int64)
        return lengths.reshape(-1, 1) * factor, [text + "ü" for text in texts]


class Names(torch.nn.Module):
    """Takes its inputs by name."""

    def forward(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        return inputs["left"] - inputs["right"]


def write_onnx_types(path: Path) -> None:
    names = list(DATATYPES)
    nodes = [helper.make_node("Identity", [name], [f"{name}_OUT"]) for name in names]
    inputs = [onnx_value(name, name, [None]) for name in names]
    outputs = [onnx_value(f"{name}_OUT", name, [None]) for name in names]
    text = config(
        "onnxruntime",
        [tensor(name, name, [-1]) for name in names],
        [tensor(f"{name}_OUT", name, [-1]) for name in reversed(names)],
    )
    write_archive(path, text, {"model.onnx": onnx_file(nodes, inputs, outputs)})


def write_onnx_labels(path: Path) -> bytes:
    """Write a model of strings in two axes, and of a batch without further axes."""
    labels: dict[str, Any] = {
        "keys_strings": ["a", "ü"],
        "values_int64s": [1, 2],
        "default_int64": -1,
    }
    texts: dict[str, Any] = {
        "keys_int64s": [1, 2],
        "values_strings": ["a", "ü"],
        "default_string": "?",
    }
    content = onnx_file(
        [
            helper.make_node("LabelEncoder", ["TEXT"], ["LABEL"], domain="ai.onnx.ml", **labels),
            helper.make_node("LabelEncoder", ["NUMBER"], ["NAME"], domain="ai.onnx.ml", **texts),
        ],
        [onnx_value("TEXT", "BYTES", [None, 1]), onnx_value("NUMBER", "INT64", [None])],
        [onnx_value("LABEL", "INT64", [None, 1]), onnx_value("NAME", "BYTES", [None])],
    )
    text = config(
        "onnxruntime",
        [tensor("TEXT", "BYTES", [1]), tensor("NUMBER", "INT64", [1], "reshape { shape: [] }")],
        [tensor("LABEL", "INT64", [1]), tensor("NAME", "BYTES", [1], "reshape { shape: [] }")],
        max_batch_size=4,
    )
    write_archive(path, text, {"model.onnx": content})
    return content


def write_onnx_scalars(path: Path) -> None:
    """Write a model of a scalar and of an input with a default."""
    default = helper.make_tensor("STEP", TensorProto.FLOAT, [2], [10.0, 20.0])
    content = onnx_file(
        [
            helper.make_node("Add", ["X", "STEP"], ["SUM"]),
            helper.make_node("Neg", ["X"], ["MINUS"]),
        ],
        [onnx_value("X", "FP32", []), onnx_value("STEP", "FP32", [2])],
        [onnx_value("SUM", "FP32", [2]), onnx_value("MINUS", "FP32", [])],
        [default],
    )
    text = config(
        "onnxruntime",
        [tensor("X", "FP32", [1]), tensor("STEP", "FP32", [2], "optional: true")],
        [tensor("SUM", "FP32", [2]), tensor("MINUS", "FP32", [1])],
    )
    write_archive(path, text, {"model.onnx": content})


def script(module: torch.nn.Module) -> Any:
    return torch.jit.script(module)


def write_torch(path: Path, module: torch.nn.Module, text: str) -> None:
    content = io.BytesIO()
    torch.jit.save(script(module), content)
    write_archive(path, text, {"model.pt": content.getvalue()})


TORCH_ARGUMENTS = {
    **{"BOOL": "b", "FP16": "f16", "FP32": "f32", "FP64": "f64", "INT8": "i8", "INT16": "i16"},
    **{"INT32": "i32", "INT64": "i64", "UINT8": "u8"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    """A server with all models."""
    archives = tmp_path_factory.mktemp("archives")
    write_onnx_types(archives / "onnx-types.tar.gz")
    write_onnx_labels(archives / "onnx-labels.tar.gz")
    write_onnx_scalars(archives / "onnx-scalars.tar.gz")
    write_torch(
        archives / "torch-types.tar.gz",
        EachType(),
        config(
            "pytorch",
            [tensor(TORCH_ARGUMENTS[name], name, [-1]) for name in reversed(TORCH_DATATYPES)],
            [
                tensor(f"OUT__{position}", name, [-1])
                for position, name in reversed(
                    [*enumerate(["UINT8", *(n for n in TORCH_DATATYPES if n != "UINT8")])]
                )
            ],
        ),
    )
    reshape = "reshape { shape: [] }"
    write_torch(
        archives / "torch-strings.tar.gz",
        Strings(),
        config(
            "pytorch",
            [tensor("X__1", "INT64", [1]), tensor("X__0", "BYTES", [1], reshape)],
            [tensor("Y__1", "BYTES", [1], reshape), tensor("Y__0", "INT64", [1])],
            max_batch_size=4,
        ),
    )
    write_torch(
        archives / "torch-names.tar.gz",
        Names(),
        config(
            "pytorch",
            [tensor("right", "FP32", [2]), tensor("left", "FP32", [2])],
            [tensor("Y", "FP32", [2])],
            max_batch_size=4,
        ),
    )
    with serve(archives) as running:
        yield running


def assert_equal(answer: Arrays, expected: dict[str, Any]) -> None:
    """Compare names, dtypes, shapes and values; expected texts are sent as UTF-8."""
    assert answer.keys() == expected.keys()
    for name, array in expected.items():
        assert (answer[name].dtype, answer[name].shape) == (array.dtype, array.shape), name
        sent = as_bytes(array) if array.dtype == object else array
        np.testing.assert_array_equal(answer[name], sent, err_msg=name)


def as_bytes(array: Any) -> Any:
    return np.array([text.encode() for text in array.flat], object).reshape(array.shape)


@pytest.mark.parametrize("count", [None, 1, 0])
def test_onnx_answers_of_each_datatype_and_of_empty_tensors(
    server: TritonServer, count: int | None
) -> None:
    inputs = {name: values(name)[:count] for name in DATATYPES}
    sent = {name: as_bytes(array) if name == "BYTES" else array for name, array in inputs.items()}
    expected = {f"{name}_OUT": array for name, array in inputs.items()}
    assert_equal(invoke(server, "onnx-types", sent), expected)


def test_onnx_strings_equal_those_of_onnx_runtime(server: TritonServer, tmp_path: Path) -> None:
    session = onnxruntime.InferenceSession(write_onnx_labels(tmp_path / "labels"))
    texts = np.array([["a"], ["ü"], ["none"]], object)
    numbers = np.array([2, 1, 7])
    outputs = [output.name for output in session.get_outputs()]
    expected = dict(
        zip(outputs, session.run(outputs, {"TEXT": texts, "NUMBER": numbers}), strict=True)
    )
    expected["NAME"] = expected["NAME"].reshape(3, 1)  # as config.pbtxt asks
    sent = {"TEXT": as_bytes(texts), "NUMBER": numbers.reshape(3, 1)}
    assert_equal(invoke(server, "onnx-labels", sent), expected)
    assert expected["LABEL"].tolist() == [[1], [2], [-1]]


def test_onnx_strings_end_at_nul_and_must_be_utf8(server: TritonServer) -> None:
    numbers = np.array([[1]])
    answer = invoke(
        server, "onnx-labels", {"TEXT": np.array([[b"a\0b"]], object), "NUMBER": numbers}
    )
    assert answer["LABEL"].tolist() == [[1]]
    with pytest.raises(ServingError, match=r"input 'TEXT' is not UTF-8: b'\\xff'"):
        invoke(server, "onnx-labels", {"TEXT": np.array([[b"\xff"]], object), "NUMBER": numbers})


def test_onnx_scalars_and_optional_inputs(server: TritonServer) -> None:
    x = np.array([3], np.float32)
    expected = {"SUM": np.array([13, 23], np.float32), "MINUS": -x}
    assert_equal(invoke(server, "onnx-scalars", {"X": x}), expected)
    step = np.array([1, 2], np.float32)
    expected["SUM"] = x + step
    assert_equal(invoke(server, "onnx-scalars", {"X": x, "STEP": step}), expected)


@pytest.mark.parametrize("count", [None, 1, 0])
def test_torch_answers_of_each_datatype_and_of_empty_tensors(
    server: TritonServer, count: int | None
) -> None:
    inputs = {name: values(name)[:count] for name in TORCH_DATATYPES}
    order = ["UINT8", *(name for name in TORCH_DATATYPES if name != "UINT8")]
    sent = {TORCH_ARGUMENTS[name]: array for name, array in inputs.items()}
    expected = {f"OUT__{position}": inputs[name] for position, name in enumerate(order)}
    assert_equal(invoke(server, "torch-types", sent), expected)


def test_torch_strings_are_lists(server: TritonServer) -> None:
    texts, factors = np.array([["a"], ["äö"], [""]], object), np.array([[1], [10], [100]])
    lengths, suffixed = script(Strings())(texts.ravel().tolist(), torch.from_numpy(factors))
    answer = invoke(server, "torch-strings", {"X__0": as_bytes(texts), "X__1": factors})
    expected = {"Y__0": lengths.numpy(), "Y__1": np.array(suffixed, object).reshape(3, 1)}
    assert_equal(answer, expected)
    with pytest.raises(ServingError, match="can't decode byte 0xff"):
        invoke(
            server,
            "torch-strings",
            {"X__0": np.array([[b"\xff"]], object), "X__1": factors[:1]},
        )


def test_torch_dictionary(server: TritonServer) -> None:
    left, right = np.array([[5, 7]], np.float32), np.array([[1, 2]], np.float32)
    assert_equal(invoke(server, "torch-names", {"left": left, "right": right}), {"Y": left - right})
    with pytest.raises(ServingError, match="Expected 8, got 0"):  # no rows: Triton itself
        invoke(server, "torch-names", {"left": left[:0], "right": right[:0]})
