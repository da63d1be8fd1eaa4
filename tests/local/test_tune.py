"""The command `tritonsm tune`, with a real Triton."""

import os
from pathlib import Path

import pytest

from cli import tune
from local_sagemaker.tests.support import tiny_models
from tests.processes import run_main
from tests.tritonsm import tritonsm

pytestmark = pytest.mark.drill

CONFIG = f"""# a model that waits
{tiny_models.CONFIG}
# one process
instance_group [ {{ count: 1 kind: KIND_GPU }} ]
"""
MODEL = "import time\n" + tiny_models.times(1, execute="time.sleep(0.05)  # once for a batch")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The config.pbtxt of a model that takes 50 ms for a batch of any size."""
    monkeypatch.setattr(tune, "DELAYS", (0,))
    monkeypatch.setattr(tune, "TURNS", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    folder = tiny_models.write_python(tmp_path / "models" / "waiting", MODEL)
    config = folder / "waiting" / "config.pbtxt"
    config.write_text(CONFIG)
    return config


def test_faster_settings_are_a_diff_and_written(config: Path) -> None:
    folder = str(config.parents[1])
    arguments = ["--input", "X=[[1]]", "--callers", "4", "--seconds", "1"]
    output = run_main(tritonsm, "tune", folder, *arguments, "--write").stdout
    assert "as it is" in output
    assert "-instance_group [ { count: 1 kind: KIND_GPU } ]" in output
    assert config.read_text() == CONFIG.replace(
        "instance_group [ { count: 1 kind: KIND_GPU } ]",
        "instance_group { count: 2 kind: KIND_GPU }\ndynamic_batching { }",
    )


def test_limit_of_latency_excludes_faster_settings(config: Path) -> None:
    arguments = ["--input", "X=[[1]]", "--callers", "2", "--seconds", "1", "--p95", "1"]
    finished = run_main(tritonsm, "tune", str(config.parents[1]), *arguments)
    assert "no configuration is 1.1 times as fast" in finished.stdout
    assert config.read_text() == CONFIG
