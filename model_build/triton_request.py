"""Requests and answers in Triton's binary form, as SageMaker's clients send them.

Source: server, docs/protocol/extension_binary_data.md and docs/protocol/extension_sequence.md.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tritonclient.utils import (
    deserialize_bytes_tensor,
    serialize_byte_tensor,
    triton_to_np_dtype,
)

from model_build.manifest import Signature

CONTENT_TYPE = "application/vnd.sagemaker-triton.binary+json;json-header-size="
SEQUENCE = {"sequence_id": 1, "sequence_start": True, "sequence_end": True}

Array = npt.NDArray[Any]


class TritonRequest(NamedTuple):
    """The body of a request and the value of its header Content-Type."""

    body: bytes
    content_type: str


def zeros(signature: Signature) -> dict[str, Array]:
    """Return zeros and empty texts for the inputs; variable dimensions have size 1."""
    return {
        tensor.name: np.full(
            [1 if size == -1 else size for size in tensor.shape],
            b"" if tensor.datatype == "BYTES" else 0,
            triton_to_np_dtype(tensor.datatype),
        )
        for tensor in signature.inputs
    }


def encode(
    signature: Signature, arrays: Mapping[str, Array], *, is_stateful: bool
) -> TritonRequest:
    """Return a request with arrays for inputs; that of a stateful model is a whole sequence.

    Inputs without an array are left out.
    """
    inputs, contents = [], []
    for tensor in signature.inputs:
        if tensor.name not in arrays:
            continue
        array = arrays[tensor.name]
        contents.append(_to_bytes(array, tensor.datatype))
        size = {"binary_data_size": len(contents[-1])}
        inputs.append(
            {
                "name": tensor.name,
                "shape": list(array.shape),
                "datatype": tensor.datatype,
                "parameters": size,
            }
        )
    parameters = {"binary_data_output": True, **(SEQUENCE if is_stateful else {})}
    header = json.dumps({"inputs": inputs, "parameters": parameters}).encode()
    return TritonRequest(b"".join((header, *contents)), f"{CONTENT_TYPE}{len(header)}")


def decode(body: bytes, content_type: str) -> dict[str, Array]:
    """Return the outputs of an answer to a request of `encode`."""
    start = int(content_type.removeprefix(CONTENT_TYPE))
    outputs = {}
    for output in json.loads(body[:start])["outputs"]:
        end = start + output["parameters"]["binary_data_size"]
        array = _from_bytes(body[start:end], output["datatype"])
        outputs[output["name"]] = array.reshape(output["shape"])
        start = end
    return outputs


def _to_bytes(array: Array, datatype: str) -> bytes:
    if datatype != "BYTES":
        return array.tobytes()
    return bytes(serialize_byte_tensor(array).item()) if array.size else b""


def _from_bytes(content: bytes, datatype: str) -> Array:
    if datatype == "BYTES":
        texts: Array = deserialize_bytes_tensor(content)
        return texts
    return np.frombuffer(content, triton_to_np_dtype(datatype))
