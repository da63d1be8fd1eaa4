"""Reading of inputs and outputs from serialized DALI pipelines."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_build.formats.dali.definition import Pipeline, read_pipeline

PIPELINE = Path(__file__).parents[1] / "checks" / "cpu.dali"
"""Serialized by DALI 1.35.0."""


def _field(number: int, content: bytes) -> bytes:
    """Return a length-delimited field of protobuf's wire format."""
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def _operator(name: str, instance: str) -> bytes:
    return _field(5, _field(1, name.encode()) + _field(5, instance.encode()))


def _output(name: str) -> bytes:
    return _field(7, _field(1, name.encode()))


def test_only_external_sources_are_inputs(tmp_path: Path) -> None:
    path = tmp_path / "model.dali"
    path.write_bytes(
        _operator("ExternalSource", "A")
        + _operator("decoders__Image", "decode")
        + _operator("ExternalSource", "B")
        + _output("Y")
        + _output("Z")
    )
    assert read_pipeline(path) == Pipeline(inputs=["A", "B"], outputs=["Y", "Z"])


@given(st.binary(max_size=64), st.integers(0, 892))
def test_arbitrary_bytes_do_not_crash(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, offset: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.dali"
    valid = PIPELINE.read_bytes()
    head, tail = valid[:offset], valid[offset:]
    for damaged in (content, head + content, head + content + tail):
        path.write_bytes(damaged)
        pipeline = read_pipeline(path)
        assert pipeline is None or pipeline.outputs
