"""A pipeline that DALI 1.35.0 wrote, and others that a test writes byte by byte."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_build.formats.dali.definition import Pipeline, read_pipeline

REAL = Path(__file__).parents[1] / "checks" / "cpu.dali"


def _field(number: int, content: bytes) -> bytes:
    """A length-delimited field of protobuf's wire format."""
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def _operator(name: str, instance: str) -> bytes:
    return _field(5, _field(1, name.encode()) + _field(5, instance.encode()))


def _output(name: str) -> bytes:
    return _field(7, _field(1, name.encode()))


def test_external_sources_are_inputs_and_other_operators_are_none(tmp_path: Path) -> None:
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
def test_any_bytes_are_a_pipeline_or_none(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, cut: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.dali"
    real = REAL.read_bytes()
    for damaged in (content, real[:cut] + content, real[:cut] + content + real[cut:]):
        path.write_bytes(damaged)
        pipeline = read_pipeline(path)
        assert pipeline is None or pipeline.outputs
