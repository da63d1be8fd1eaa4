"""Reading and changing of serialized DALI pipelines without DALI.

The message definition has the necessary fields of DALI's dali/pipeline/dali.proto. Tested with
pipelines of DALI 1.35.0 and 2.4.0.
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
"""Fields by message: name, number, and type, where a message type means a repeated field."""


class Pipeline(NamedTuple):
    """The names of a pipeline's external sources and outputs."""

    inputs: list[str]
    outputs: list[str]


def read_pipeline(path: Path) -> Pipeline | None:
    """Return the inputs and outputs of a pipeline, or None if the file is not a pipeline."""
    try:
        definition = parse(path.read_bytes())
    except DecodeError:
        return None
    inputs = [op.inst_name for op in definition.op if op.name == "ExternalSource"]
    outputs = [output.name for output in definition.pipe_outputs]
    if not definition.op or not outputs:
        return None
    if any(isinstance(name, bytes) for name in (*inputs, *outputs)):
        return None  # protobuf returns names that are not UTF-8 as bytes
    return Pipeline(inputs, outputs)


def parse(content: bytes) -> Any:
    """Return a `PipelineDef`, which preserves unknown fields."""
    pipeline = _pipeline_class()()
    pipeline.ParseFromString(content)
    return pipeline


def decode_on_gpu(content: bytes) -> bytes:
    """Convert a CPU pipeline to the pipeline that DALI would serialize for the GPU.

    Image decoders become "mixed" (CPU and GPU), and their successors run on the GPU. Only the
    devices change: the result equals the GPU pipeline of DALI 2.4.0. DALI 1.35.0 can serialize GPU
    pipelines only on machines with a GPU.
    """
    pipeline = parse(content)
    gpu_tensors: set[str] = set()
    for operator in pipeline.op:
        gpu_inputs = [tensor for tensor in operator.input if tensor.name in gpu_tensors]
        if not gpu_inputs and not _DECODER.fullmatch(operator.name):
            continue
        for tensor in gpu_inputs:
            if tensor.is_argument_input:
                raise BuildError(
                    f"{operator.inst_name} takes an argument from {tensor.name}, which is on the "
                    "GPU: DALI takes arguments of operators from the CPU only"
                )
            tensor.device = "gpu"
        for argument in operator.args:
            if argument.name == "device":
                argument.strings[0] = "gpu" if gpu_inputs else "mixed"
        for tensor in operator.output:
            tensor.device = "gpu"
            gpu_tensors.add(tensor.name)
    for tensor in pipeline.pipe_outputs:
        if tensor.name in gpu_tensors:
            tensor.device = "gpu"
    serialized: bytes = pipeline.SerializeToString(deterministic=True)
    return serialized


@cache
def _pipeline_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="dali_pipeline.proto", package="dali_pipeline")
    scalars = {"text": _TYPE.TYPE_STRING, "texts": _TYPE.TYPE_STRING, "flag": _TYPE.TYPE_BOOL}
    for message, fields in _FIELDS.items():
        descriptor = file.message_type.add(name=message)
        for name, number, kind in fields:
            is_single = kind in ("text", "flag")
            descriptor.field.add(
                name=name,
                number=number,
                label=_TYPE.LABEL_OPTIONAL if is_single else _TYPE.LABEL_REPEATED,
                type=scalars.get(kind, _TYPE.TYPE_MESSAGE),
                type_name=None if kind in scalars else f".dali_pipeline.{kind}",
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("dali_pipeline.PipelineDef"))
