"""Tests of the shares of models, and of their requests."""

from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from cli.dispatch import parse_command
from cli.load import mix
from cli.load.mix import ModelTarget
from cli.load.request_inputs import GENERATED, Request, model_requests, random_requests
from endpoint_client import CatalogEntry, Tensor
from endpoint_client._payload import to_arrays

A, B = ModelTarget("dev-text", "a"), ModelTarget("dev-text", "b")


def entry(*inputs: Tensor) -> CatalogEntry:
    return CatalogEntry(
        model="a", version="0", endpoint="dev-text", target_model=None, inputs=inputs, outputs=()
    )


def test_requests_of_a_zipf_mix_have_its_shares() -> None:
    shares = mix.zipf(["dev-text/a", "dev-text/b"], 1)
    assert shares == {A: pytest.approx(2 / 3), B: pytest.approx(1 / 3)}
    requests = {target: [Request(target, {})] for target in (A, B)}
    counts = Counter(
        request.target
        for request in islice(random_requests(shares, requests, np.random.default_rng(0)), 9000)
    )
    assert counts[A] / 9000 == pytest.approx(2 / 3, abs=0.02)


@pytest.mark.parametrize(
    "text",
    [
        "weights:\n  dev-text/a: 3\n  dev-text/b: 1\n",
        '{"weights": {"dev-text/a": 3, "dev-text/b": 1}}',
    ],
)
def test_mix_file_is_yaml_or_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "mix").write_text(text)
    assert mix.read(tmp_path / "mix") == {A: 0.75, B: 0.25}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("weights:\n  dev-text/a: 1\n  b: 1\n", "mix.yaml:3: weights.b: "),
        ("weights:\n  dev-text/a: -1\n", "mix.yaml:2: weights.dev-text/a: -1 is out of range"),
        ("weights: {}\n", "mix.yaml:1: weights: "),
        ("wieghts: {}\n", "mix.yaml:1: wieghts: unknown key; write weights"),
        (None, "No such file"),
    ],
)
def test_invalid_mix_file_is_a_usage_error_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, error: str
) -> None:
    path = tmp_path / "mix.yaml"
    if text:
        path.write_text(text)
    with pytest.raises(SystemExit) as raised:
        parse_command(["load", "--mix", str(path), "--rate", "1"])()
    assert raised.value.code == 2
    assert error in capsys.readouterr().err


@pytest.mark.parametrize("datatype", ["FP32", "INT64", "BOOL", "BYTES"])
@pytest.mark.parametrize("shape", [(1,), (-1, 1), (-1, -1), (-1, 3, 4)])
def test_generated_inputs_match_the_signature(
    tmp_path: Path, datatype: str, shape: tuple[int, ...]
) -> None:
    signature = entry(Tensor("X", datatype, shape))
    random = np.random.default_rng(0)
    [request] = model_requests(A, signature, GENERATED, tmp_path, random)
    to_arrays(signature, request.inputs)
