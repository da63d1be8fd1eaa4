"""config.pbtxt, read and written through Triton's own protobuf."""

from pathlib import Path
from typing import Any, TypeAlias

from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from model_build.errors import RepositoryInvalid
from model_build.target import BuildTarget

ModelConfig: TypeAlias = Any
"""Triton's `inference.ModelConfig` message; tritonclient ships it without types."""

_KIND = model_config_pb2.ModelInstanceGroup.Kind


def read(path: Path) -> ModelConfig:
    """Parse a config.pbtxt. Raises `RepositoryInvalid` with file:line:column and the reason."""
    text = path.read_text(encoding="utf-8")
    try:
        return text_format.Parse(text, model_config_pb2.ModelConfig())
    except text_format.ParseError as error:
        line, column = error.GetLine(), error.GetColumn()
        quoted = text.split("\n")[line - 1]  # protobuf repeats the whole line before some reasons
        reason = str(error).removeprefix(f"{line}:{column} : ").removeprefix(f"'{quoted}': ")
        raise RepositoryInvalid(f"{path}:{line}:{column}: {reason}") from None


def for_target(config: ModelConfig, target: BuildTarget) -> ModelConfig:
    """Return the configuration that serves on `target`: on a CPU, every instance is KIND_CPU."""
    adapted = model_config_pb2.ModelConfig()
    adapted.CopyFrom(config)
    if target.processor == "cpu":
        for group in adapted.instance_group:
            group.kind = _KIND.KIND_CPU
            del group.gpus[:]
    return adapted


def write(config: ModelConfig, path: Path) -> None:
    """Write a configuration in protobuf's text format; equal configurations give equal bytes."""
    path.write_text(text_format.MessageToString(config), encoding="utf-8")


def data_type(config_type: int) -> str:
    """Return a tensor's KServe v2 datatype (`FP32`, `BYTES`) for the configuration's enum value."""
    name: str = model_config_pb2.DataType.Name(config_type).removeprefix("TYPE_")
    return "BYTES" if name == "STRING" else name
