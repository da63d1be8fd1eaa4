"""Tests of `tritonsm invoke` with a fake client."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli import invoke
from cli.__main__ import main
from endpoint_client import CatalogEntry, NoCopies, Tensor
from tests.processes import run_main

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

    def __init__(self, *, wait_until_ready: float, **_: Any) -> None:
        self._wait_seconds = wait_until_ready

    def resolve(self, model: str) -> CatalogEntry:
        if model != "speaks":
            raise NoCopies(f"waited {self._wait_seconds:g} s")
        return ENTRY

    def stream(self, _: str, inputs: Any, *, parameters: dict[str, int]) -> Iterator[Any]:
        yield from [{"TEXT": inputs["PROMPT"][0]}] * parameters["TIMES"]


@pytest.fixture(autouse=True)
def _stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "dev.yaml").write_text("region: us-east-1\nendpoints: {}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(invoke, "EndpointClient", FakeClient)


@pytest.mark.parametrize(("options", "seconds"), [([], 0), (["--wait", "900"], 900)])
def test_wait_is_passed_to_the_client(options: list[str], seconds: float) -> None:
    finished = run_main(main, "invoke", "dev", "night", "minilm", *options, code=1)
    assert finished.stderr == f"error: waited {seconds} s\n"


def test_stream_prints_each_response_as_a_line_of_json() -> None:
    options = ["--input", "PROMPT=hello", "--parameter", "TIMES=2", "--stream"]
    lines = run_main(main, "invoke", "dev", "talk", "speaks", *options).stdout.splitlines()
    assert [json.loads(line) for line in lines] == 2 * [{"TEXT": "hello"}]
