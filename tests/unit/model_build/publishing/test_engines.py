"""Who compiles the engines of a bucket's archives, and what becomes of those that none has."""

import ctypes
import json
from pathlib import Path
from typing import Any

import pytest

from model_build import BuildError
from model_build.engines.accepted_results import BucketResults
from model_build.engines.codebuild import CodeBuildGpu
from model_build.engines.local_gpu import LocalGpu
from model_build.publishing import engines
from model_build.publishing.manifests import delete_unused
from platform_facts import ComputeCapability
from tests.gpu_stand_in.driver_stand_in import DriverStandIn
from tests.unit.model_build.engines.conftest import write_job, write_result
from tests.unit.model_build.engines.fake_codebuild import FakeCodeBuild
from tests.unit.model_build.fakes import FakeS3, Lines

KEY = "text/cuda-25.09-sm86/"


class _Stacks:
    """CloudFormation with the models stack of the stage dev."""

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


def _machine(monkeypatch: pytest.MonkeyPatch, *, tensorrt: bool) -> None:
    """A machine with a GPU, as many have, and with or without TensorRT."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _: DriverStandIn(capability=(8, 9)))
    monkeypatch.setattr(engines, "find_spec", {"tensorrt": tensorrt or None}.__getitem__)


def test_a_build_in_codebuild_compiles_in_the_project_that_it_is_told(stacks: _Stacks) -> None:
    images = {"25.09": "mirror"}
    gpu = engines.bucket_engines("bucket", project="gpu", images=images, deadline=7.0).gpu
    assert isinstance(gpu, CodeBuildGpu)
    assert (gpu.bucket, gpu.project, gpu.images, gpu.deadline) == ("bucket", "gpu", images, 7.0)
    assert isinstance(engines.bucket_engines("bucket", project=None, images={}).gpu, LocalGpu)


def test_a_laptop_without_tensorrt_compiles_in_the_stages_project(
    stacks: _Stacks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _machine(monkeypatch, tensorrt=False)
    gpu = engines.stage_engines("bucket", stage="dev").gpu
    assert gpu.compute_capability() == ComputeCapability(8, 6)
    requests: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(
        CodeBuildGpu, "run", lambda each, *_, **__: requests.append((each.project, each.images))
    )
    gpu.run(write_job(tmp_path / "job"), to=tmp_path / "raw", progress=Lines())
    stacks.outputs.append({"OutputKey": "GpuImages", "OutputValue": '{"25.09": "mirror"}'})
    gpu = engines.stage_engines("bucket", stage="dev").gpu
    gpu.run(write_job(tmp_path / "same"), to=tmp_path / "raw", progress=Lines())
    assert requests == [("gpu-of-dev", {}), ("gpu-of-dev", {"25.09": "mirror"})]


def test_a_laptop_with_tensorrt_compiles_on_its_gpu(
    stacks: _Stacks, monkeypatch: pytest.MonkeyPatch
) -> None:
    _machine(monkeypatch, tensorrt=True)
    gpu = engines.stage_engines("bucket", stage="dev").gpu
    assert gpu.compute_capability() == ComputeCapability(8, 9)


def test_a_stage_that_has_no_gpu_project_yet_is_told_to_be_deployed(
    stacks: _Stacks, monkeypatch: pytest.MonkeyPatch
) -> None:
    _machine(monkeypatch, tensorrt=False)
    stacks.outputs = []
    with pytest.raises(BuildError, match=r"dev-models has no output GpuProject: .* Deploy it"):
        engines.stage_engines("bucket", stage="dev").gpu.compute_capability()


def test_an_engine_stays_while_an_archive_has_it(s3: FakeS3, tmp_path: Path) -> None:
    kept = BucketResults(s3.client, "bucket", is_builder=True)
    jobs = [write_job(tmp_path / release, release=release) for release in ("25.04", "25.09")]
    for job in jobs:
        assert kept.accept(write_result(tmp_path / f"of-{job.digest}", job))
    shared, unused = (job.digest for job in jobs)
    s3.objects |= {
        f"{KEY}{name}.json": {"Body": json.dumps({"engines": {"m.plan": {"job": job}}}).encode()}
        for name, job in {"a": shared, "b": unused}.items()
    }
    s3.objects[f"{KEY}before-engines.json"] = {"Body": b"{}"}
    s3.objects |= {f"{KEY}{each}.tar.gz": {"Body": b""} for each in ("a", "b", "before-engines")}
    s3.objects["somebody/else.json"] = {"Body": b"no manifest"}
    deleted = delete_unused(s3.client, "bucket", [f"{KEY}b.json"])
    assert deleted[0] == f"engines/{unused}/result.json"  # the rest is no result without it
    assert len(deleted) == 3
    assert kept.fetch(shared, to=tmp_path / "shared")
    assert not any(key.startswith(f"engines/{unused}") for key in s3.objects)


def test_without_engines_no_manifest_is_read(s3: FakeS3) -> None:
    assert delete_unused(s3.client, "bucket", []) == []
    assert s3.calls == []
