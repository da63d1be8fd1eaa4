"""The client's encoding of each data type of Triton, against a real Triton."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from endpoint_client._catalog import CatalogEntry, Tensor
from endpoint_client._payload import decode, encode, to_arrays
from local_sagemaker.serving import TritonServer, serve
from local_sagemaker.tests.support.raw_models import write_archive

NAN, INFINITY = float("nan"), float("inf")
VALUES: dict[str, list[Any]] = {
    "BOOL": [True, False],
    "FP16": [1.5, NAN, -INFINITY],
    "FP32": [1.5, NAN, -INFINITY],
    "FP64": [1.5, NAN, 1e300],
    "BF16": [1.5, NAN, -INFINITY],
    **{f"INT{bits}": [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}": [0, 2**bits - 1] for bits in (8, 16, 32, 64)},
    "BYTES": ["", "ü€😀", b"\xff\x00"],
}
BINARY_ONLY = ("FP16", "BF16")
"""Data types that Triton refuses in JSON."""
ECHO = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [
            pb_utils.InferenceResponse([self.echo(tensor) for tensor in request.inputs()])
            for request in requests
        ]

    def echo(self, tensor):
        name = "OUT_" + tensor.name()
        if tensor.name() == "BF16":  # numpy has no such type
            return pb_utils.Tensor.from_dlpack(name, tensor.to_dlpack())
        return pb_utils.Tensor(name, tensor.as_numpy())
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    archives: Path = tmp_path_factory.mktemp("archives")
    config = 'backend: "python"\n'
    for name in VALUES:
        tensor = f"data_type: TYPE_{name.replace('BYTES', 'STRING')} dims: [ -1 ]"
        config += f'input {{ name: "{name}" {tensor} optional: true }}\n'
        config += f'output {{ name: "OUT_{name}" {tensor} }}\n'
    write_archive(archives / "echo.tar.gz", config, {"model.py": ECHO.encode()})
    with serve(archives) as running:
        yield running


def call(server: TritonServer, inputs: dict[str, Any], *, binary: bool) -> dict[str, Any]:
    entry = CatalogEntry(
        *("echo", "1", "text", "echo.tar.gz"),
        inputs=tuple(Tensor(name, name, (-1,)) for name in inputs),
        outputs=tuple(Tensor(f"OUT_{name}", name, (-1,)) for name in inputs),
    )
    request = encode(entry, to_arrays(entry, inputs), binary=binary)
    response = server.invoke("echo.tar.gz", request.body, request.content_type)
    return decode(bytearray(response.body), response.headers["Content-Type"])


@pytest.mark.parametrize("count", [3, 1, 0])
@pytest.mark.parametrize("binary", [True, False])
def test_values_of_each_datatype_return(server: TritonServer, count: int, *, binary: bool) -> None:
    values = dict(VALUES)
    if not binary:
        values = {name: values[name] for name in values if name not in BINARY_ONLY}
        values = {
            name: [
                value for value in column if value == value and value not in (-INFINITY, b"\xff\0")
            ]
            for name, column in values.items()
        }
    answer = call(server, {name: column[:count] for name, column in values.items()}, binary=binary)
    dtypes = {"BF16": ml_dtypes.bfloat16, "BYTES": object}
    for name, column in values.items():
        dtype = dtypes.get(name) or name.lower().replace("fp", "float")
        sent = [value.encode() if isinstance(value, str) else value for value in column[:count]]
        expected = np.array(sent, dtype)
        assert (answer[f"OUT_{name}"].dtype, answer[f"OUT_{name}"].shape) == (
            expected.dtype,
            expected.shape,
        )
        if name == "BF16":  # whose NaN numpy cannot compare
            assert answer["OUT_BF16"].tobytes() == expected.tobytes()
        else:
            np.testing.assert_array_equal(answer[f"OUT_{name}"], expected, err_msg=name)
