"""Property tests: the linter reports findings for any text."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import platform_facts
from model_build import checks
from model_build.findings import Finding, RepositoryInvalid
from model_build.repository import CONFIG, Repository
from tests.unit.model_build.checks.cases import files
from tests.unit.model_build.checks.cases.bases import MODEL

RULES = checks.rules_for_release(platform_facts.release("25.09"))


def lint(configs_by_model: dict[str, str], other_files: dict[str, bytes]) -> list[Finding]:
    """Write model directories and return the findings. Raises only `RepositoryInvalid`."""
    with tempfile.TemporaryDirectory() as name:
        for model, config in configs_by_model.items():
            model_files = {**other_files, CONFIG: config.encode()}
            for path, content in model_files.items():
                (Path(name) / model / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(name) / model / path).write_bytes(content)
        return checks.findings(Repository.read(Path(name)), RULES)


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
