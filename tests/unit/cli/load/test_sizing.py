"""Tests of the instances of a stage for a measured rate, and of the bottleneck."""

from pathlib import Path
from typing import Any

import pytest

import stages.schema.scaling
from cli.load.limits import find_bottleneck
from cli.load.ramp import Objective
from cli.load.sizing import Sizing
from model_build.digest import model_files
from platform_facts.rules.scaling import SCALING_TARGET_SHARE
from tests.unit.cli.load.support import step


def sizing(**changes: Any) -> Sizing:
    measurements: dict[str, Any] = {
        "model": "minilm",
        "version": "fd7fc2b15569",
        "endpoint": "prod-text",
        "date": "2026-11-22",
        "measured_on": "ml.g5.xlarge",
        "instance_type": "ml.g5.xlarge",
        "region": "us-east-1",
        "release": "25.09",
        "production": True,
        "objective": Objective(p95=50),
        "max_rps": 60.0,
        "latency_ms": {"p50": 9.0, "p95": 38.0, "p99": 44.0, "max": 60.0},
        "limited_by": "GPU",
        "reason": "GPUUtilization 95 %",
        "steps": [step(60)],
    }
    return Sizing(**measurements | changes)


def test_stage_lines_use_half_of_the_sustained_rate() -> None:
    assert SCALING_TARGET_SHARE == 0.5
    assert "the scaling target is half of it" in (Path(stages.schema.scaling.__file__).read_text())
    assert sizing().stage_lines(1, 200) == [
        "instance_count: 2",
        "scaling: { min_count: 2, max_count: 7, max_rps: 60 }",
        "# 2,056 to 7,197 USD a month by prices of 2025-02-03",
    ]
    assert sizing(production=False).stage_lines(1, 30)[0] == "instance_count: 1"


def test_result_is_saved_without_changing_the_model_version(tmp_path: Path) -> None:
    (tmp_path / "resnet50").mkdir()
    (tmp_path / "resnet50" / "recipe.yaml").write_text("")
    before = list(model_files(tmp_path / "resnet50"))
    path = sizing(model="resnet50-onnx").write(tmp_path)
    assert path.parent == tmp_path / "resnet50" / "tests" / "sizing"
    assert list(model_files(tmp_path / "resnet50")) == before


LIGHTEST = step(1, metrics={"text/v": {"ModelLatency": 9.0}})


@pytest.mark.parametrize(
    ("metrics", "limit", "figures"),
    [
        ({"ModelLatency": 9.0, "GPUUtilization": 95.0}, "GPU", "GPUUtilization 95 %"),
        ({"ModelLatency": 9.0, "CPUUtilization": 88.0}, "CPU", "CPUUtilization 88 %"),
        ({"ModelLatency": 9.0, "MemoryUtilization": 97.0}, "memory", "MemoryUtilization 97 %"),
        ({"ModelLatency": 9.0, "ModelUnloadingTime": 3}, "memory", "ModelUnloadingTime 3: "),
        ({"ModelLatency": 9.0, "CPUUtilization": 20.0}, "queue", "before the container"),
        ({"ModelLatency": 49.0, "CPUUtilization": 20.0}, "queue", "in the container"),
        ({"ModelLatency": 16.0 + 9.5}, "queue", "ModelLatency 25.5 ms, 9.0 ms at 1 a second"),
        ({}, "unknown", "no metrics"),
    ],
)
def test_bottleneck_of_a_step(metrics: dict[str, float], limit: str, figures: str) -> None:
    name, reason = find_bottleneck(step(10, p95=100, metrics={"text/v": metrics}), LIGHTEST)
    assert name == limit
    assert figures in reason


def test_saturated_load_generator_is_the_bottleneck() -> None:
    saturated = step(10, generator_cpu=0.97, metrics={"text/v": {"GPUUtilization": 99.0}})
    assert find_bottleneck(saturated, LIGHTEST)[0] == "load generator"


def test_slow_model_without_a_queue_is_unknown() -> None:
    slow = step(10, p95=20, metrics={"text/v": {"ModelLatency": 9.5, "CPUUtilization": 20.0}})
    assert find_bottleneck(slow, LIGHTEST)[0] == "unknown"
