"""Requests in Triton's binary form, as SageMaker's clients send them.

Source: server, docs/protocol/extension_binary_data.md and docs/protocol/extension_sequence.md.
"""

import json
import math
from typing import NamedTuple

from model_build.manifest import Signature

ITEM_BYTES = {
    **{"BOOL": 1, "INT8": 1, "UINT8": 1, "INT16": 2, "UINT16": 2, "FP16": 2, "BF16": 2},
    **{"INT32": 4, "UINT32": 4, "FP32": 4, "INT64": 8, "UINT64": 8, "FP64": 8},
    "BYTES": 4,
}
"""Bytes of a zero of each datatype; an empty text is its length, which is 4 bytes."""
SEQUENCE = {"sequence_id": 1, "sequence_start": True, "sequence_end": True}


class TritonRequest(NamedTuple):
    """The body of a request and the value of its header Content-Type."""

    body: bytes
    content_type: str


def request_of_zeros(signature: Signature, *, is_stateful: bool) -> TritonRequest:
    """Return a request of zeros and empty texts; variable dimensions have size 1.

    A request of a stateful model is a whole sequence.
    """
    inputs, contents = [], []
    for tensor in signature.inputs:
        shape = [1 if size == -1 else size for size in tensor.shape]
        contents.append(bytes(math.prod(shape) * ITEM_BYTES[tensor.datatype]))
        size = {"binary_data_size": len(contents[-1])}
        inputs.append(
            {"name": tensor.name, "shape": shape, "datatype": tensor.datatype, "parameters": size}
        )
    parameters = {"binary_data_output": True, **(SEQUENCE if is_stateful else {})}
    header = json.dumps({"inputs": inputs, "parameters": parameters}).encode()
    return TritonRequest(
        b"".join((header, *contents)),
        f"application/vnd.sagemaker-triton.binary+json;json-header-size={len(header)}",
    )
