"""GPUs that compile the engines of a bucket."""

import ctypes
from pathlib import Path
from typing import Any

import pytest

from model_build import BuildError
from model_build.engines.codebuild import CodeBuildGpu
from model_build.publishing import engines
from platform_facts import ComputeCapability
from tests.gpu_stand_in.driver_stand_in import DriverStandIn
from tests.unit.model_build.engines.conftest import write_job
from tests.unit.model_build.engines.fake_codebuild import FakeCodeBuild
from tests.unit.model_build.fakes import FakeS3, ProgressLines


class _Stacks:
    """CloudFormation client with the models stack of the stage dev."""

    def __init__(self) -> None:
        self.outputs = [{"OutputKey": "GpuProject", "OutputValue": "gpu-of-dev"}]

    def describe_stacks(self, **request: Any) -> dict[str, Any]:
        assert request == {"StackName": "dev-models"}
        return {"Stacks": [{"Outputs": self.outputs}]}


@pytest.fixture
def stacks(s3: FakeS3, monkeypatch: pytest.MonkeyPatch) -> _Stacks:
    codebuild, stacks = FakeCodeBuild(s3), _Stacks()
    clients = {"s3": s3, "codebuild": codebuild, "logs": codebuild, "cloudformation": stacks}
    monkeypatch.setattr("boto3.client", lambda name, **_: clients[name])
    monkeypatch.delenv("CUDA_VERSION", raising=False)
    return stacks


def _fake_gpu(monkeypatch: pytest.MonkeyPatch, *, tensorrt: bool) -> None:
    """Let this machine have a GPU, with or without TensorRT."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _: DriverStandIn(capability=(8, 9)))
    monkeypatch.setattr(engines, "find_spec", {"tensorrt": tensorrt or None}.__getitem__)


def test_machine_without_tensorrt_uses_the_project_of_the_stage(
    stacks: _Stacks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake_gpu(monkeypatch, tensorrt=False)
    gpu = engines.stage_engines(FakeS3().bucket, stage="dev").gpu
    assert gpu.compute_capability() == ComputeCapability(8, 6)
    requests: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(
        CodeBuildGpu, "run", lambda gpu, *_, **__: requests.append((gpu.project, gpu.images))
    )
    gpu.run(write_job(tmp_path / "job"), to=tmp_path / "raw", progress=ProgressLines())
    stacks.outputs.append({"OutputKey": "GpuImages", "OutputValue": '{"25.09": "mirror"}'})
    gpu = engines.stage_engines(FakeS3().bucket, stage="dev").gpu
    gpu.run(write_job(tmp_path / "same"), to=tmp_path / "raw", progress=ProgressLines())
    assert requests == [("gpu-of-dev", {}), ("gpu-of-dev", {"25.09": "mirror"})]


def test_stage_without_a_gpu_project_is_an_error(
    stacks: _Stacks, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake_gpu(monkeypatch, tensorrt=False)
    stacks.outputs = []
    with pytest.raises(BuildError, match=r"dev-models has no output GpuProject: .* Deploy it"):
        engines.stage_engines(FakeS3().bucket, stage="dev").gpu.compute_capability()
