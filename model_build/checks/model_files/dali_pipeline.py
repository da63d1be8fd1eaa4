"""What a serialized DALI pipeline takes and gives, read without DALI.

DALI has no package for this; the few fields that are read here are named as in its
dali/pipeline/dali.proto. Checked against what DALI 2.4.0 writes.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

_EXTERNAL_SOURCE = "ExternalSource"


@dataclass(frozen=True)
class Pipeline:
    """The names of the external sources, and how many outputs there are."""

    inputs: list[str]
    outputs: list[str]


def read_pipeline(path: Path) -> Pipeline | None:
    """Return the outside of a pipeline, or None where the file is none."""
    definition = _pipeline_class()()
    try:
        definition.ParseFromString(path.read_bytes())
    except DecodeError:
        return None
    if not definition.op or not definition.pipe_outputs:
        return None
    inputs = [it.inst_name for it in definition.op if it.name == _EXTERNAL_SOURCE]
    outputs = [it.name for it in definition.pipe_outputs]
    if any(isinstance(name, bytes) for name in (*inputs, *outputs)):
        return None  # protobuf gives names that are no UTF-8 as bytes
    return Pipeline(inputs, outputs)


_FIELDS: dict[str, list[tuple[str, int, str | None]]] = {
    "OpDef": [("name", 1, None), ("inst_name", 5, None)],
    "InputOutput": [("name", 1, None)],
    "PipelineDef": [("op", 5, "OpDef"), ("pipe_outputs", 7, "InputOutput")],
}
"""Message -> its fields that are read: name, number, and the message that a repeated one holds."""


@cache
def _pipeline_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="dali_pipeline.proto", package="dali_pipeline")
    field = descriptor_pb2.FieldDescriptorProto
    for message, fields in _FIELDS.items():
        described = file.message_type.add(name=message)
        for name, number, of in fields:
            described.field.add(
                name=name,
                number=number,
                label=field.LABEL_REPEATED if of else field.LABEL_OPTIONAL,
                type=field.TYPE_MESSAGE if of else field.TYPE_STRING,
                type_name=f".dali_pipeline.{of}" if of else None,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName("dali_pipeline.PipelineDef")
    return message_factory.GetMessageClass(found)
