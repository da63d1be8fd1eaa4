"""A serialized DALI pipeline, read and changed without DALI.

DALI has no package for this; the few fields that are used here are named as in its
dali/pipeline/dali.proto. Checked against what DALI 1.35.0 and 2.4.0 write.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from model_build.errors import BuildError

_DECODER = re.compile(r"(\w+__)?decoders__Image\w*|ImageDecoder\w*")
_TYPE = descriptor_pb2.FieldDescriptorProto
_FIELDS: dict[str, list[tuple[str, int, str]]] = {
    "Argument": [("name", 1, "text"), ("strings", 5, "texts")],
    "InputOutput": [("name", 1, "text"), ("device", 2, "text"), ("is_argument_input", 3, "flag")],
    "OpDef": [
        ("name", 1, "text"),
        ("input", 2, "InputOutput"),
        ("output", 3, "InputOutput"),
        ("args", 4, "Argument"),
        ("inst_name", 5, "text"),
    ],
    "PipelineDef": [("op", 5, "OpDef"), ("pipe_outputs", 7, "InputOutput")],
}
"""Message -> its fields that are used: name, number, and a type or the message that it repeats."""


class Pipeline(NamedTuple):
    """The names of the external sources, and of the outputs."""

    inputs: list[str]
    outputs: list[str]


def read_pipeline(path: Path) -> Pipeline | None:
    """Return the inputs and outputs of a pipeline, or None if the file is not one."""
    try:
        definition = parse(path.read_bytes())
    except DecodeError:
        return None
    inputs = [op.inst_name for op in definition.op if op.name == "ExternalSource"]
    outputs = [output.name for output in definition.pipe_outputs]
    if not definition.op or not outputs:
        return None
    if any(isinstance(name, bytes) for name in (*inputs, *outputs)):
        return None  # protobuf gives names that are no UTF-8 as bytes
    return Pipeline(inputs, outputs)


def parse(content: bytes) -> Any:
    """Return a `PipelineDef`, which keeps the fields that it does not know."""
    pipeline = _pipeline_class()()
    pipeline.ParseFromString(content)
    return pipeline


def decode_on_gpu(content: bytes) -> bytes:
    """Return a pipeline that was written for the CPU as DALI would write it for the GPU.

    Images are decoded by GPU and CPU together ("mixed"), and what follows runs on the GPU. DALI
    1.35.0 writes such a pipeline only where there is a GPU. The two differ in the devices alone:
    DALI 2.4.0, which writes both anywhere, gives exactly this one.
    """
    pipeline = parse(content)
    on_gpu: set[str] = set()
    for operator in pipeline.op:
        moved = [tensor for tensor in operator.input if tensor.name in on_gpu]
        if not moved and not _DECODER.fullmatch(operator.name):
            continue
        for tensor in moved:
            if tensor.is_argument_input:
                raise BuildError(
                    f"{operator.inst_name} takes an argument from {tensor.name}, which is on the "
                    "GPU: DALI takes arguments of operators from the CPU only"
                )
            tensor.device = "gpu"
        for argument in operator.args:
            if argument.name == "device":
                argument.strings[0] = "gpu" if moved else "mixed"
        for tensor in operator.output:
            tensor.device = "gpu"
            on_gpu.add(tensor.name)
    for tensor in pipeline.pipe_outputs:
        if tensor.name in on_gpu:
            tensor.device = "gpu"
    written: bytes = pipeline.SerializeToString(deterministic=True)
    return written


@cache
def _pipeline_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="dali_pipeline.proto", package="dali_pipeline")
    plain = {"text": _TYPE.TYPE_STRING, "texts": _TYPE.TYPE_STRING, "flag": _TYPE.TYPE_BOOL}
    for message, fields in _FIELDS.items():
        described = file.message_type.add(name=message)
        for name, number, of in fields:
            once = of in ("text", "flag")
            described.field.add(
                name=name,
                number=number,
                label=_TYPE.LABEL_OPTIONAL if once else _TYPE.LABEL_REPEATED,
                type=plain.get(of, _TYPE.TYPE_MESSAGE),
                type_name=None if of in plain else f".dali_pipeline.{of}",
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("dali_pipeline.PipelineDef"))
