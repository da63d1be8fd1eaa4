"""Compilation of engines, with recorded APIs of TensorRT 10.16 and 11.4."""

import re
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from model_build.gpu_step.compiler import compile_engine, load_engine
from model_build.gpu_step.errors import StepError
from model_build.gpu_step.job import Job
from model_build.gpu_step.logger import TensorRtLog
from tests.gpu_stand_in.recorded_api import VERSIONS, RecordedTensorRt

JOB = Job(
    onnx_sha256="",
    tensorrt="10.13.3.9",
    compute_capability="8.6",
    level="none",
    precision="fp16",
    workspace_mib=1024,
    profiles=[
        {
            "token_ids": {"min": [1, 128], "opt": [16, 128], "max": [128, 128]},
            "attn_mask": {"min": [1, 128], "opt": [16, 128], "max": [128, 128]},
        }
    ],
    outputs=["output"],
    cases=[],
)


def _compile(
    trt: RecordedTensorRt, *, timing_cache: bytes = b"", **fields: Any
) -> tuple[bytes, bytes, list[str]]:
    """Return the plan, the new timing cache and the printed lines."""
    lines: list[str] = []
    job, log = JOB._replace(**fields), TensorRtLog(trt, lines.append)
    made = compile_engine(trt, Path("bert.onnx"), job, log=log, timing_cache=timing_cache)
    return *made, lines


def _load(trt: RecordedTensorRt, *, level: str) -> None:
    log = TensorRtLog(trt, print)
    load_engine(trt, trt.Runtime(log.logger), b"plan", level=level, log=log)


@pytest.mark.parametrize("version", VERSIONS)
def test_calls_exist_in_the_api_version(version: str, snapshot: SnapshotAssertion) -> None:
    trt = RecordedTensorRt(version)
    plan, timing_cache, lines = _compile(trt, level="ampere-plus", timing_cache=b"times")
    assert plan == timing_cache == b"serialized"
    assert lines == []
    assert trt.calls == snapshot


@pytest.mark.parametrize(("version", "network"), [*zip(VERSIONS, (2, 1), strict=True)])
@pytest.mark.parametrize(
    ("precision", "flags"),
    [
        ("fp32", ["clear_flag(BuilderFlag.TF32)"]),
        ("tf32", ["set_flag(BuilderFlag.TF32)"]),
        *((precision, []) for precision in ("fp16", "bf16", "int8")),
    ],
)
def test_precision_is_in_the_network_or_a_flag(
    version: str, network: int, precision: str, flags: list[str]
) -> None:
    trt = RecordedTensorRt(version)
    _compile(trt, precision=precision)
    assert f"Builder.create_network({network})" in trt.calls
    set_flags = [call.removeprefix("IBuilderConfig.") for call in trt.calls if "_flag(" in call]
    assert set_flags == flags


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "refusal",
    [{"IBuilderConfig.set_timing_cache": False}, {"IBuilderConfig.create_timing_cache": None}],
)
def test_timing_cache_of_another_gpu_is_replaced(version: str, refusal: dict[str, Any]) -> None:
    trt = RecordedTensorRt(version)
    trt.answers |= refusal
    plan, _, lines = _compile(trt, timing_cache=b"times")
    assert plan == b"serialized"
    assert "IBuilderConfig.create_timing_cache(<0 bytes>)" in trt.calls
    assert lines == ["the timing cache is of another GPU or TensorRT, and is not used"]


@pytest.mark.parametrize("version", VERSIONS)
def test_engine_without_the_requested_level_is_refused(version: str) -> None:
    trt = RecordedTensorRt(version)
    trt.answers["ICudaEngine.hardware_compatibility_level"] = 0
    with pytest.raises(StepError, match=r"level 0, not AMPERE_PLUS: it would not run"):
        _load(trt, level="ampere-plus")


PARSER_ERRORS = {
    "OnnxParser.parse_from_file": False,
    "OnnxParser.num_errors": 2,
    "ParserError.node": 7,
    "ParserError.node_name": "/encoder/NonZero",
    "ParserError.node_operator": "NonZero",
    "ParserError.local_function_stack": ["Encoder"],
    "ParserError.desc": "no importer for NonZero",
    "ParserError.code": "UNSUPPORTED_NODE",
    "ParserError.file": "ModelImporter.cpp",
    "ParserError.line": 828,
}


@pytest.mark.parametrize("version", VERSIONS)
def test_all_parser_errors_are_reported(version: str) -> None:
    trt = RecordedTensorRt(version)
    trt.answers |= PARSER_ERRORS
    node = "node 7 /encoder/NonZero (NonZero) in Encoder"
    line = f"{node}: no importer for NonZero [UNSUPPORTED_NODE, ModelImporter.cpp:828]"
    with pytest.raises(
        StepError, match=re.escape(f"{version} cannot parse the ONNX file: {line}; {line}")
    ):
        _compile(trt)


@pytest.mark.parametrize("version", VERSIONS)
def test_missing_engine_is_an_error(version: str) -> None:
    trt = RecordedTensorRt(version)
    trt.answers["Builder.build_serialized_network"] = None
    with pytest.raises(StepError, match=r"TensorRT made no engine \(it logged no error\)"):
        _compile(trt)
