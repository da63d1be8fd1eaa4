"""Test of `tritonsm invoke` with a fake client."""

from pathlib import Path
from typing import Any

import pytest

from cli import invoke
from cli.__main__ import main
from endpoint_client import NoCopies


@pytest.mark.parametrize(("options", "seconds"), [([], 0), (["--wait", "900"], 900)])
def test_wait_is_passed_to_the_client(
    options: list[str],
    seconds: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    class FakeClient:
        def __init__(self, *, wait_until_ready: float, **_: Any) -> None:
            waits.append(wait_until_ready)

        def resolve(self, _: str) -> None:
            raise NoCopies("no copy")

    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "dev.yaml").write_text("region: us-east-1\nendpoints: {}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(invoke, "EndpointClient", FakeClient)
    assert main(["invoke", "dev", "night", "minilm", *options]) == 1
    assert waits == [seconds]
