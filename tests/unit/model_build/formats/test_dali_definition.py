"""Rewriting of DALI pipelines to decode on the GPU.

Both .dali files contain the same pipeline, serialized by DALI 2.4.0: in one of them the decoder's
device is "cpu", in the other "mixed".
"""

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st

from model_build import model_config
from model_build.formats.dali.definition import Pipeline, decode_on_gpu, parse, read_pipeline

HERE = Path(__file__).parent
CPU = (HERE / "cpu-2.4.0.dali").read_bytes()
INCEPTION = HERE.parents[3] / "models" / "inception"
MIXED = (HERE / "mixed-2.4.0.dali").read_bytes()


def _pipeline(*operators: dict[str, Any], output: str) -> bytes:
    pipeline = parse(b"")
    for operator in operators:
        pipeline.op.add(args=[{"name": "device", "strings": ["cpu"]}], **operator)
    pipeline.pipe_outputs.add(name=output, device="cpu")
    content: bytes = pipeline.SerializeToString()
    return content


def _devices(content: bytes) -> dict[str, str]:
    return {operator.inst_name: operator.args[0].strings[0] for operator in parse(content).op}


def test_rewritten_cpu_pipeline_equals_the_mixed_pipeline() -> None:
    assert parse(CPU) != parse(MIXED)
    assert parse(decode_on_gpu(CPU)) == parse(MIXED)


SOURCE = {"name": "ExternalSource", "inst_name": "source", "output": [{"name": "bytes"}]}
DECODE = {
    "name": "decoders__Image",
    "inst_name": "decode",
    "input": [{"name": "bytes"}],
    "output": [{"name": "picture"}],
}


def test_operators_independent_of_decoders_stay_on_the_cpu() -> None:
    independent = {
        "name": "Resize",
        "inst_name": "independent",
        "input": [{"name": "bytes"}],
        "output": [{"name": "small"}],
    }
    dependent = {
        "name": "Resize",
        "inst_name": "dependent",
        "input": [{"name": "picture"}],
        "output": [{"name": "y"}],
    }
    content = decode_on_gpu(_pipeline(SOURCE, DECODE, independent, dependent, output="small"))
    devices = {"source": "cpu", "decode": "mixed", "independent": "cpu", "dependent": "gpu"}
    assert _devices(content) == devices
    assert parse(content).pipe_outputs[0].device == "cpu"


def test_only_external_sources_are_inputs(tmp_path: Path) -> None:
    second = {"name": "ExternalSource", "inst_name": "second"}
    path = tmp_path / "model.dali"
    path.write_bytes(_pipeline(SOURCE, DECODE, second, output="picture"))
    assert read_pipeline(path) == Pipeline(inputs=["source", "second"], outputs=["picture"])


@given(st.binary(max_size=64), st.integers(0, 892))
def test_arbitrary_bytes_do_not_crash(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, offset: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.dali"
    head, tail = CPU[:offset], CPU[offset:]
    for damaged in (content, head + content, head + content + tail):
        path.write_bytes(damaged)
        pipeline = read_pipeline(path)
        assert pipeline is None or pipeline.outputs


@pytest.mark.parametrize(
    "name", ["decoders__ImageRandomCrop", "experimental__decoders__Image", "ImageDecoder"]
)
def test_every_image_decoder_becomes_mixed(name: str) -> None:
    content = decode_on_gpu(_pipeline(SOURCE, {**DECODE, "name": name}, output="picture"))
    assert _devices(content)["decode"] == "mixed"
    assert parse(content).pipe_outputs[0].device == "gpu"


def test_inception_has_image_format_and_threads_of_the_article() -> None:
    classifier, dali = (
        model_config.parse((INCEPTION / name / "config.pbtxt").read_text())
        for name in ("classifier", "dali")
    )
    (pixels,), (picture,) = classifier.input, dali.output
    assert text_format.MessageToString(pixels).count("format: FORMAT_NHWC") == 1
    assert list(pixels.dims) == list(picture.dims) == [299, 299, 3]
    assert dali.parameters["num_threads"].string_value == "4"
