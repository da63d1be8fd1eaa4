"""Tests of `tritonsm invoke` with a fake client."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cli import invoke
from cli.__main__ import main
from endpoint_client import CatalogEntry, Tensor
from tests.processes import run_main
from tests.unit.test_repository import ROOT

ENTRY = CatalogEntry(
    model="speaks",
    version="1",
    endpoint="dev-talk",
    target_model=None,
    inputs=(Tensor("PROMPT", "BYTES", (1,)),),
    outputs=(),
)


class FakeClient:
    """A fake of `EndpointClient` with one decoupled model."""

    def __init__(self, **_: Any) -> None: ...

    def resolve(self, _: str) -> CatalogEntry:
        return ENTRY

    def stream(self, _: str, inputs: Any, *, parameters: dict[str, int]) -> Iterator[Any]:
        yield from [{"TEXT": inputs["PROMPT"][0]}] * parameters["TIMES"]


def test_stream_prints_each_response_as_a_line_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(invoke, "EndpointClient", FakeClient)
    options = ["--input", "PROMPT=hello", "--parameter", "TIMES=2", "--stream"]
    lines = run_main(main, "invoke", "dev", "talk", "speaks", *options).stdout.splitlines()
    assert [json.loads(line) for line in lines] == 2 * [{"TEXT": "hello"}]
