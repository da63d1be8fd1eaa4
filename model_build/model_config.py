"""Reading and writing of config.pbtxt with Triton's protobuf message."""

import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from model_build.target import BuildTarget

ModelConfig: TypeAlias = model_config_pb2.ModelConfig
"""Triton's `inference.ModelConfig` message; `Any` to mypy, since tritonclient has no types."""

DATA_TYPES: list[str] = model_config_pb2.DataType.keys()[1:]
"""The names of Triton's data types, such as `TYPE_FP32`."""

ENVIRONMENT = "EXECUTION_ENV_PATH"
"""The parameter with the packed environment of a Python model (python_backend README)."""

KIND = model_config_pb2.ModelInstanceGroup.Kind

PLATFORM_BACKENDS = {
    "ensemble": "ensemble",
    "onnxruntime_onnx": "onnxruntime",
    "pytorch_libtorch": "pytorch",
    "torch_aoti": "pytorch",
    "tensorrt_plan": "tensorrt",
    "tensorflow_graphdef": "tensorflow",
    "tensorflow_savedmodel": "tensorflow",
}
"""Backends by `platform`, the older field that selects a backend."""

TEMPLATE = re.compile(r"\$\{\w+|\{\{|#[A-Z_]+\b|<[a-z_]+>")
"""A variable of the usual templates."""

_UNKNOWN_NAME = re.compile(
    r'(?P<message>Message)? ?(?:Enum )?type "(?P<kind>[\w.]+)" has no '
    r'(?:field|value) named "?(?P<name>\w+)"?\.'
)
"""protobuf's error for an unknown field or enum value."""


class NotParsed(ValueError):
    """A text that is not a ModelConfig: `line` and `column` from 1, and the parser's `reason`."""

    def __init__(self, line: int, column: int, reason: str) -> None:
        self.line, self.column, self.reason = line, column, reason
        super().__init__(f"{line}:{column}: {reason}")


def parse(text: str) -> ModelConfig:
    """Return the ModelConfig of a config.pbtxt's text. Raise `NotParsed`."""
    try:
        return text_format.Parse(text, ModelConfig())
    except text_format.ParseError as error:
        line, column = error.GetLine(), error.GetColumn()
        faulty_line = text.split("\n")[
            line - 1
        ]  # protobuf repeats the whole line before some reasons
        reason = str(error).removeprefix(f"{line}:{column} : ").removeprefix(f"'{faulty_line}': ")
        if TEMPLATE.search(faulty_line):
            reason += " The line is of a template: fill in its variables."
        raise NotParsed(line, column, reason + _nearest_name(reason)) from None


def _nearest_name(reason: str) -> str:
    """Return a suggestion for an unknown field or enum value, or an empty string."""
    match = _UNKNOWN_NAME.match(reason)
    if match is None:
        return ""
    if match["name"] == "TYPE_BYTES":
        return " Write TYPE_STRING, the name of BYTES in config.pbtxt."
    pool, kind = model_config_pb2.DESCRIPTOR.pool, match["kind"]
    if match["message"]:
        names = pool.FindMessageTypeByName(kind).fields_by_name
    else:
        names = pool.FindEnumTypeByName(kind).values_by_name
    similar_names = difflib.get_close_matches(match["name"], names, n=1, cutoff=0.5)
    return f" Did you mean {similar_names[0]}?" if similar_names else f" It has {', '.join(names)}."


def read(path: Path) -> ModelConfig:
    """Return the ModelConfig of a file. Raise `NotParsed`, also for values that are not UTF-8.

    Comments may have any bytes: Triton loads such a file.
    """
    config = parse(read_text(path))
    if "\N{REPLACEMENT CHARACTER}" in text_format.MessageToString(config, as_utf8=True):
        raise NotParsed(1, 1, "a value is not UTF-8: save the file as UTF-8")
    return config


def read_text(path: Path) -> str:
    """Return the text of a file, with replacement characters for bytes that are not UTF-8."""
    return path.read_bytes().decode(errors="replace")


def adapt_to_target(config: ModelConfig, target: BuildTarget, *, backend: str) -> ModelConfig:
    """Return the configuration adapted to `target` and to a model file of `backend`.

    For CPU targets, every instance group is KIND_CPU. If `backend` is not the configured one,
    settings of the configured backend (platform, file name, parameters, accelerators) are removed.
    """
    adapted = ModelConfig()
    adapted.CopyFrom(config)
    if target.processor == "cpu":
        for group in adapted.instance_group:
            group.kind = KIND.KIND_CPU
            del group.gpus[:]
        if adapted.HasField("optimization"):  # reading an unset message field would set it
            del adapted.optimization.execution_accelerators.gpu_execution_accelerator[:]
    if backend != (backend_of(config) or backend):
        for field in ("platform", "default_model_filename", "parameters"):
            adapted.ClearField(field)
        if adapted.HasField("optimization"):
            adapted.optimization.ClearField("execution_accelerators")
        for group in adapted.instance_group:
            del group.profile[:]
        adapted.backend = backend
    return adapted


def write(config: ModelConfig, path: Path) -> None:
    """Write a configuration in protobuf's text format; equal configurations give equal bytes."""
    path.write_text(text_format.MessageToString(config), encoding="utf-8")


def backend_of(config: ModelConfig) -> str:
    """Return the backend's name, also for configurations with the older `platform`."""
    return str(config.backend or PLATFORM_BACKENDS.get(config.platform, config.platform))


def type_name(config_type: int) -> str:
    """Return the name of a data type, such as `TYPE_FP32`, or `type 99` for an unknown number."""
    values = model_config_pb2.DataType.values()
    if config_type not in values:  # config.pbtxt may have a number instead of a name
        return f"type {config_type}"
    return str(model_config_pb2.DataType.Name(config_type))


def data_type(config_type: int) -> str:
    """Return the KServe v2 datatype (`FP32`, `BYTES`) of a configuration's enum value."""
    name = type_name(config_type).removeprefix("TYPE_")
    return "BYTES" if name == "STRING" else name


def dims_match(declared: Sequence[int], actual: Sequence[int]) -> bool:
    """Return whether two shapes are equal, where -1 in `declared` matches any size."""
    return len(declared) == len(actual) and all(
        expected in (-1, size) for expected, size in zip(declared, actual, strict=True)
    )
