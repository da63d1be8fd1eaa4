"""Property tests: the linter reports findings for any input and never crashes."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given, settings
from hypothesis import strategies as st
from tritonclient.grpc import model_config_pb2

import platform_facts
from model_build import checks
from model_build.findings import Finding, RepositoryInvalid
from model_build.formats import BACKENDS as KNOWN_BACKENDS
from model_build.model_config import PLATFORM_BACKENDS
from model_build.repository import CONFIG, Repository
from tests.unit.model_build.checks.cases import files
from tests.unit.model_build.checks.cases.bases import MODEL

RULES = checks.rules_for_release(platform_facts.release("25.09"))

# Values that the rules treat specially, and arbitrary ones. Some inputs have the models "first" and
# "both", so that an ensemble may name another model or itself.
TEXTS = st.sampled_from(
    [
        *("", "X", "Y", "INPUT__0", "INPUT__1", "DALI_INPUT_0", "first", "both", "true", "0"),
        *("EXECUTION_ENV_PATH", "$$TRITON_MODEL_DIRECTORY/1", "tensorrt", "../X", "a\n\"'\0ß"),
    ]
) | st.text(st.characters(codec="utf-8"), max_size=4)
BACKENDS = st.sampled_from(["", "ensemble", *KNOWN_BACKENDS, *PLATFORM_BACKENDS])
VALUES_BY_FIELD = {
    "backend": BACKENDS,
    "platform": BACKENDS,
    "model_name": st.sampled_from(["", "both", "first", "second", "third"]),
    "default_model_filename": st.sampled_from(["", "", "X", ".", "model.json"]),
    "max_batch_size": st.sampled_from([-1, 0, 1, 8]),
}
VALUES_BY_TYPE = {
    FieldDescriptor.CPPTYPE_INT32: st.sampled_from([0, 1, 2, 8, -1, -(2**31), 2**31 - 1]),
    FieldDescriptor.CPPTYPE_INT64: st.sampled_from([0, 1, 2, 8, -1, -(2**63), 2**63 - 1]),
    FieldDescriptor.CPPTYPE_UINT32: st.sampled_from([0, 1, 2, 8, 2**32 - 1]),
    FieldDescriptor.CPPTYPE_UINT64: st.sampled_from([0, 1, 2, 8, 2**64 - 1]),
    FieldDescriptor.CPPTYPE_FLOAT: st.floats(width=32),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
    FieldDescriptor.CPPTYPE_STRING: TEXTS,
}


def fill(draw: st.DrawFn, message: Any) -> None:
    """Set some fields of a protobuf message to drawn values."""
    fields = list(message.DESCRIPTOR.fields)
    if not fields:
        return
    chosen = st.lists(st.sampled_from(fields), max_size=6, unique_by=lambda field: field.name)
    for field in draw(chosen):
        entry = field.message_type and field.message_type.GetOptions().map_entry
        if entry:
            fill_map(draw, getattr(message, field.name), *field.message_type.fields)
        elif field.message_type and field.is_repeated:
            for _ in range(draw(st.integers(0, 2))):
                fill(draw, getattr(message, field.name).add())
        elif field.message_type:
            getattr(message, field.name).SetInParent()
            fill(draw, getattr(message, field.name))
        elif field.is_repeated:
            getattr(message, field.name).extend(draw(st.lists(values_of(field), max_size=3)))
        else:
            setattr(message, field.name, draw(values_of(field)))


def fill_map(draw: st.DrawFn, entries: Any, key: FieldDescriptor, value: FieldDescriptor) -> None:
    for map_key in draw(st.lists(values_of(key), max_size=2)):
        if value.message_type:
            fill(draw, entries[map_key])
        else:
            entries[map_key] = draw(values_of(value))


def values_of(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a scalar or enum field."""
    if field.enum_type:
        return st.sampled_from([*(value.number for value in field.enum_type.values), 99])
    return VALUES_BY_FIELD.get(field.name, VALUES_BY_TYPE[field.cpp_type])


@st.composite
def configs(draw: st.DrawFn) -> str:
    """Draw a config.pbtxt that parses."""
    config = model_config_pb2.ModelConfig(
        backend=draw(BACKENDS),
        max_batch_size=draw(VALUES_BY_FIELD["max_batch_size"]),
        default_model_filename=draw(VALUES_BY_FIELD["default_model_filename"]),
    )
    for field in ("input", "output"):
        for _ in range(draw(st.integers(0, 2))):
            fill(draw, getattr(config, field).add())
    fill(draw, config)
    return str(text_format.MessageToString(config, as_utf8=draw(st.booleans())))


def valid_files() -> list[bytes]:
    return [
        MODEL.encode(),
        files.onnx({"X": ["n", 2]}, {"Y": ["n", 2]}),
        files.torchscript(tensors=2),
        files.dali(),
    ]


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """Draw a model file: valid, damaged or arbitrary bytes."""
    content = draw(st.deferred(lambda: st.sampled_from(valid_files())) | st.binary(max_size=20))
    if draw(st.booleans()):
        start = draw(st.integers(0, len(content)))
        content = content[:start] + draw(st.binary(max_size=3)) + content[start + 2 :]
    return content


PATHS = [*(f"1/{format_.file}" for format_ in KNOWN_BACKENDS.values()), "1/X", "1/model.json"]
PATHS += ["2/model.py", "v2/model.py", "X", "warmup/X"]
FILES = st.fixed_dictionaries({}, optional={path: contents() for path in PATHS})


def lint(configs_by_model: dict[str, str], other_files: dict[str, bytes]) -> list[Finding]:
    """Write model directories and return the findings. Raises only `RepositoryInvalid`."""
    with tempfile.TemporaryDirectory() as name:
        for model, config in configs_by_model.items():
            model_files = {**other_files, CONFIG: config.encode()}
            for path, content in model_files.items():
                (Path(name) / model / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(name) / model / path).write_bytes(content)
        return checks.findings(Repository.read(Path(name)), RULES)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(["both", "first"]), configs(), min_size=1), FILES)
def test_linter_does_not_crash_on_any_config(
    configs_by_model: dict[str, str], other_files: dict[str, bytes]
) -> None:
    for finding in lint(configs_by_model, other_files):
        assert finding.message
        assert finding.location.line is None or finding.location.line >= 1


WORDS = st.sampled_from(
    [
        *("name", "input", "dims", "parameters", "key", "value", "ensemble_scheduling", "step"),
        *"{}[]<>:,;#\"'\\\n\r -1ß",
        *('backend: "python"', "max_batch_size: -1", 'name: "X"', "TYPE_FP32", "true"),
    ]
)


@given(st.lists(WORDS, max_size=12).map("".join) | st.text(st.characters(codec="utf-8")))
def test_any_text_parses_or_fails_with_a_location(text: str) -> None:
    try:
        lint({"X": text}, {})
    except RepositoryInvalid as error:
        (finding,) = error.findings
        assert finding.rule == "config_parses"
        assert finding.location.line
        assert finding.message


ONNX = files.onnx({"X": ["n", 2]}, {"Y": ["n", 2]})
TENSORS = """
input { name: "X" data_type: TYPE_FP32 dims: 2 }
output { name: "Y" data_type: TYPE_FP32 dims: 2 }
"""


@pytest.mark.parametrize(
    ("config", "path", "content"),
    [
        ('backend: "onnxruntime" default_model_filename: "m.json"', "1/m.json", ONNX),
        ('backend: "onnxruntime"', "1/model.onnx", ONNX.replace(b"\x01X", b"\x01\xff")),
        ('backend: "onnxruntime"', "1/model.onnx", ONNX.replace(b"\x08\x01\x12", b"\x08\x63\x12")),
        (f'backend: "onnxruntime" default_model_filename: "{__file__}"', "1/X", b""),
        ('backend: "dali"', "1/model.dali", files.dali().replace(b"DALI_IN", b"\xff\xfeLI_IN")),
        ('backend: "python"', "1/model.py", b"x = " + b"-" * 100_000 + b"1"),
        ('backend: "python" max_batch_size: -1  # it\r name', "1/model.py", MODEL.encode()),
        ('backend: "python"', "²/model.py", MODEL.encode()),
        ('backend: "python"', "0/model.py", MODEL.encode()),
    ],
    ids=[
        *("ONNX file named .json", "ONNX name not UTF-8", "unknown ONNX data type"),
        *("absolute file name", "DALI name not UTF-8", "nested Python expression"),
        *("carriage return in a comment", "version not ASCII", "version 0"),
    ],
)
def test_invalid_models_have_findings(config: str, path: str, content: bytes) -> None:
    assert lint({"X": config + TENSORS}, {path: content})
