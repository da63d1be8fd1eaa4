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
    shares = mix.zipf([A, B], 1)
    assert shares == {A: pytest.approx(2 / 3), B: pytest.approx(1 / 3)}
    requests = {target: [Request(target, {})] for target in (A, B)}
    counts = Counter(
        request.target
        for request in islice(random_requests(shares, requests, np.random.default_rng(0)), 9000)
    )
    assert counts[A] / 9000 == pytest.approx(2 / 3, abs=0.02)


def test_target_without_a_model_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        parse_command(["load", "dev-text", "--rate", "1"])()
    assert raised.value.code == 2
    assert "'dev-text' is not a model of an endpoint: write " in capsys.readouterr().err


@pytest.mark.parametrize("datatype", ["FP32", "INT64", "BOOL", "BYTES"])
@pytest.mark.parametrize("shape", [(1,), (-1, 1), (-1, -1), (-1, 3, 4)])
def test_generated_inputs_match_the_signature(
    tmp_path: Path, datatype: str, shape: tuple[int, ...]
) -> None:
    signature = entry(Tensor("X", datatype, shape))
    random = np.random.default_rng(0)
    [request] = model_requests(A, signature, GENERATED, tmp_path, random)
    to_arrays(signature, request.inputs)
