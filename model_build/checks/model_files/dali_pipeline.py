"""What a serialized DALI pipeline takes and gives."""

from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import DecodeError

from model_build.export.dali_definition import empty_pipeline

_EXTERNAL_SOURCE = "ExternalSource"


@dataclass(frozen=True)
class Pipeline:
    """The names of the external sources, and how many outputs there are."""

    inputs: list[str]
    outputs: list[str]


def read_pipeline(path: Path) -> Pipeline | None:
    """Return the outside of a pipeline, or None where the file is none."""
    definition = empty_pipeline()
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
