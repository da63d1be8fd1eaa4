"""Arrays to Triton's request bodies, and answers back to arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tritonclient.http import InferenceServerClient, InferInput, InferRequestedOutput
from tritonclient.utils import triton_to_np_dtype

from endpoint_client._catalog import CatalogEntry, Tensor
from endpoint_client._errors import InvalidInput

Array = npt.NDArray[Any]

BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="
JSON = "application/json"


def encode(
    entry: CatalogEntry, inputs: Mapping[str, Array | Sequence[str]], *, binary: bool
) -> tuple[bytes, str]:
    """Return a request's body and its Content-Type. Raises `InvalidInput` naming every fault."""
    problems = [f"input {name!r} is missing" for name in _missing(entry, inputs)]
    known = {tensor.name: tensor for tensor in entry.inputs}
    tensors = []
    for name, value in inputs.items():
        if name not in known:
            problems.append(f"no input {name!r}: write one of {', '.join(known)}")
            continue
        array = _array(known[name], value)
        problems += _faults(known[name], array)
        tensor = InferInput(name, list(array.shape), known[name].datatype)
        if not problems:
            tensor.set_data_from_numpy(array, binary_data=binary)
        tensors.append(tensor)
    if problems:
        raise InvalidInput(f"{entry.model} {entry.version}: {'; '.join(problems)}")
    outputs = [InferRequestedOutput(it.name, binary_data=binary) for it in entry.outputs]
    body, header_length = InferenceServerClient.generate_request_body(tensors, outputs=outputs)
    return body, f"{BINARY}{header_length}" if binary else JSON


def decode(body: bytes, content_type: str) -> dict[str, Array]:
    """Return an answer's outputs by name; BYTES tensors are arrays of `bytes`."""
    length = int(content_type.removeprefix(BINARY)) if content_type.startswith(BINARY) else None
    result = InferenceServerClient.parse_response_body(body, header_length=length)
    names = [output["name"] for output in result.get_response()["outputs"]]
    return {name: result.as_numpy(name) for name in names}


def _missing(entry: CatalogEntry, inputs: Mapping[str, Any]) -> list[str]:
    return [tensor.name for tensor in entry.inputs if tensor.name not in inputs]


def _array(tensor: Tensor, value: Array | Sequence[str]) -> Array:
    """Strings become one column of UTF-8 bytes where the model takes one string a row."""
    if tensor.datatype != "BYTES":
        return np.asarray(value)
    array = np.array(
        [it.encode() if isinstance(it, str) else it for it in np.asarray(value, object).flat],
        dtype=object,
    )
    shape = np.shape(value)
    if len(shape) == 1 and len(tensor.shape) == 2 and tensor.shape[1] == 1:
        shape = (*shape, 1)
    return array.reshape(shape)


def _faults(tensor: Tensor, array: Array) -> list[str]:
    faults = []
    wanted = np.dtype(triton_to_np_dtype(tensor.datatype))
    if array.dtype != wanted:
        faults.append(f"input {tensor.name!r} has dtype {array.dtype}, give {wanted}")
    fits = len(array.shape) == len(tensor.shape) and all(
        want in (-1, have) for want, have in zip(tensor.shape, array.shape, strict=True)
    )
    if not fits:
        shape = list(tensor.shape)
        faults.append(f"input {tensor.name!r} has shape {list(array.shape)}, give {shape}")
    return faults
