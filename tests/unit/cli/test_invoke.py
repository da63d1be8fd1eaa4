"""`tritonsm invoke`, as far as it needs no endpoint."""

from pathlib import Path
from typing import Any

import pytest

from cli import invoke
from cli.__main__ import main
from endpoint_client import NoCopies


@pytest.mark.parametrize(("options", "seconds"), [([], 0), (["--wait", "900"], 900)])
def test_a_caller_may_wait_for_a_component_that_sleeps(
    options: list[str],
    seconds: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    class Asleep:
        def __init__(self, *, wait_until_ready: float, **_: Any) -> None:
            waits.append(wait_until_ready)

        def resolve(self, _: str) -> None:
            raise NoCopies("asleep")

    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "dev.yaml").write_text("region: us-east-1\nendpoints: {}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(invoke, "EndpointClient", Asleep)
    assert main(["invoke", "dev", "night", "minilm", *options]) == 1
    assert waits == [seconds]
