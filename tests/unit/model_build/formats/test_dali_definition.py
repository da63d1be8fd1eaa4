"""Pipelines that DALI 2.4.0 wrote of one source, with the decoder on the CPU and "mixed"."""

from pathlib import Path
from typing import Any

import pytest

from model_build import BuildError
from model_build.formats.dali.definition import decode_on_gpu, parse

HERE = Path(__file__).parent
CPU = (HERE / "cpu-2.4.0.dali").read_bytes()
MIXED = (HERE / "mixed-2.4.0.dali").read_bytes()


def _written(*operators: dict[str, Any], output: str) -> bytes:
    pipeline = parse(b"")
    for operator in operators:
        pipeline.op.add(args=[{"name": "device", "strings": ["cpu"]}], **operator)
    pipeline.pipe_outputs.add(name=output, device="cpu")
    content: bytes = pipeline.SerializeToString()
    return content


def _devices(content: bytes) -> dict[str, str]:
    return {each.inst_name: each.args[0].strings[0] for each in parse(content).op}


def test_a_pipeline_on_the_cpu_becomes_what_dali_writes_of_the_mixed_one() -> None:
    assert parse(CPU) != parse(MIXED)
    assert parse(decode_on_gpu(CPU)) == parse(MIXED)


SOURCE = {"name": "ExternalSource", "inst_name": "source", "output": [{"name": "bytes"}]}
DECODE = {
    "name": "decoders__Image",
    "inst_name": "decode",
    "input": [{"name": "bytes"}],
    "output": [{"name": "picture"}],
}


def test_what_does_not_follow_a_decoder_stays_on_the_cpu() -> None:
    beside = {
        "name": "Resize",
        "inst_name": "beside",
        "input": [{"name": "bytes"}],
        "output": [{"name": "small"}],
    }
    after = {
        "name": "Resize",
        "inst_name": "after",
        "input": [{"name": "picture"}],
        "output": [{"name": "y"}],
    }
    moved = decode_on_gpu(_written(SOURCE, DECODE, beside, after, output="small"))
    devices = {"source": "cpu", "decode": "mixed", "beside": "cpu", "after": "gpu"}
    assert _devices(moved) == devices
    assert parse(moved).pipe_outputs[0].device == "cpu"


@pytest.mark.parametrize(
    "name", ["decoders__ImageRandomCrop", "experimental__decoders__Image", "ImageDecoder"]
)
def test_every_decoder_of_images_is_mixed(name: str) -> None:
    content = decode_on_gpu(_written(SOURCE, {**DECODE, "name": name}, output="picture"))
    assert _devices(content)["decode"] == "mixed"
    assert parse(content).pipe_outputs[0].device == "gpu"


def test_an_argument_from_the_gpu_is_refused() -> None:
    rotate = {
        "name": "Rotate",
        "inst_name": "rotate",
        "input": [{"name": "bytes"}, {"name": "picture", "is_argument_input": True}],
    }
    with pytest.raises(BuildError, match=r"^rotate takes an argument from picture, which is on "):
        decode_on_gpu(_written(SOURCE, DECODE, rotate, output="picture"))
