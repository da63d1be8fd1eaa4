"""A stage with GPUs, deployed: its engines are compiled by a GPU step whose GPU is a stand-in."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from local_sagemaker.tests.support.tiny_models import write, write_python
from local_sagemaker.tests.support.waiting import eventually
from model_build.__main__ import main
from model_build.engines import codebuild
from tests.local.conftest import ROOT, Checkout, target_in

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

STAGE = """
account: "000000000000"
region: us-east-1
release: "25.09"
endpoints:
  one: { models: [scaled, times], instance_type: ml.g5.xlarge }
"""
TENSORS = """
max_batch_size: 4
input [ { name: "%s" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "%s" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""
WORDS = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        given = [pb_utils.get_input_tensor_by_name(it, "X").as_numpy() for it in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("W", it)]) for it in given]
"""
SCALED = {
    "recipe.yaml": """
description: Numbers, scaled by an engine
files:
  scale/1/model.plan:
    to: tensorrt
    source: export.py:scale
    opset: 18
    gate: { max_absolute_difference: 1.0e-5 }
    engine:
      precision: fp16
      profiles: [ { W: { min: [1, 2], opt: [2, 2], max: [4, 2] } } ]
      gate: { max_absolute_difference: 1.0e-2 }
""",
    "export.py": """
import torch

from model_build import TorchModel


def scale(_):
    return TorchModel(
        module=torch.nn.Linear(2, 2),
        inputs={"W": torch.float32},
        outputs=("Y",),
        axes={"W": {"batch": (1, 4)}},
        sample=lambda sizes, generator: {"W": torch.randn(sizes["batch"], 2, generator=generator)},
    )
""",
    "scaled/config.pbtxt": f"""
platform: "ensemble"
{TENSORS % ("X", "Y")}
ensemble_scheduling {{ step [
  {{ model_name: "words" model_version: -1
    input_map {{ key: "X" value: "X" }} output_map {{ key: "W" value: "W" }} }},
  {{ model_name: "scale" model_version: -1
    input_map {{ key: "W" value: "W" }} output_map {{ key: "Y" value: "Y" }} }}
] }}
""",
    "words/config.pbtxt": f'backend: "python"\n{TENSORS % ("X", "W")}',
    "words/1/model.py": WORDS,
    "scale/config.pbtxt": f'platform: "tensorrt_plan"\n{TENSORS % ("W", "Y")}',
}
TARGET = "cuda-25.09-sm86"
SCALED_FOLDER = "models/scaled"
RECIPE = f"{SCALED_FOLDER}/recipe.yaml"
STAND_IN = ROOT / "tests" / "gpu_stand_in"
WAITS = f"""
import pathlib, time
while not pathlib.Path("MARKER").exists():
    time.sleep(0.05)
exec(open("{STAND_IN}/tensorrt.py").read())
"""
NO_WAIT = ("BUILD_WAIT_MINUTES = 50", "BUILD_WAIT_MINUTES = 0")
"""An edit that lets builds of a deploy wait for no engine."""


@dataclass(frozen=True)
class GpuStage(Checkout):
    """A stage with a GPU project. The file `gpu` has the PYTHONPATH of its GPU, or nothing."""

    gpu: Path = Path()

    def build(self, archive: str) -> int:
        """Build `scaled` as another deploy would, in this process; return the exit code."""
        target = target_in(self.aws, TARGET)
        return main(
            [
                *("build", str(self.path / SCALED_FOLDER), "--target", target),
                *("--bucket", _bucket()[1], "--key", f"{archive}.tar.gz"),
                *("--gpu-project", _project("GpuProject")),
            ]
        )


@pytest.fixture(scope="module")
def gpu_stage(checkout: Checkout) -> GpuStage:
    """A stage, not deployed; without a GPU."""
    (checkout.path / "stages" / "gpu.yaml").write_text(STAGE)
    write(checkout.path / SCALED_FOLDER, SCALED)
    write_python(checkout.path / "models" / "times", WORDS.replace('"W"', '"Y"'))
    gpu = checkout.path / "gpu"
    gpu.touch()
    step = "python3 -m gpu_step"
    checkout.edit("stacks/model_stack.py", step, f"PYTHONPATH=$(cat {gpu}) {step}")
    return GpuStage(checkout.path, checkout.aws, "gpu", gpu)


@pytest.fixture(scope="module")
def gave_up(gpu_stage: GpuStage, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a deploy said that waited for no engine; its GPU build has ended since."""
    folder = tmp_path_factory.mktemp("waits")
    (folder / "tensorrt.py").write_text(WAITS.replace("MARKER", str(folder / "marker")))
    gpu_stage.gpu.write_text(f"{folder}:{STAND_IN}")
    with gpu_stage.edited("platform_facts/rules/updates.py", *NO_WAIT):
        late = gpu_stage.deploy()
    assert late.returncode == 1
    (folder / "marker").touch()
    eventually(lambda: _status(_gpu_builds()[0]) != "IN_PROGRESS")
    return late.stdout


@pytest.fixture(scope="module")
def deployed(gpu_stage: GpuStage, gave_up: str) -> GpuStage:
    """The stage, deployed with a GPU that is a stand-in."""
    finished = gpu_stage.again("deploy", "--all", "--require-approval", "never")
    assert finished.returncode == 0, finished.stdout
    return gpu_stage


@pytest.fixture(autouse=True)
def _polling_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codebuild, "POLL_SECONDS", 0.1)


def _project(kind: str) -> str:
    outputs = boto3.client("cloudformation").describe_stacks(StackName="gpu-models")["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in outputs["Outputs"]}[kind]


def _gpu_builds() -> list[str]:
    """The ids of all GPU builds, the newest first."""
    client: Any = boto3.client("codebuild")
    result: list[str] = client.list_builds_for_project(projectName=_project("GpuProject"))["ids"]
    return result


def _bucket() -> tuple["S3Client", str]:
    resources = boto3.client("cloudformation").describe_stack_resources(StackName="gpu-models")
    (bucket,) = [
        resource["PhysicalResourceId"]
        for resource in resources["StackResources"]
        if resource["LogicalResourceId"].startswith("ModelsBucket")
        and resource["ResourceType"] == "AWS::S3::Bucket"
    ]
    return boto3.client("s3"), bucket


def _keys(prefix: str, suffix: str = "") -> list[str]:
    s3, bucket = _bucket()
    result = s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", ())
    return [each["Key"] for each in result if each["Key"].endswith(suffix)]


def _engine_jobs(prefix: str) -> set[str]:
    """The jobs that the manifests below a prefix name."""
    s3, bucket = _bucket()
    manifests = [
        json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
        for key in _keys(prefix, ".json")
    ]
    return {engine["job"] for manifest in manifests for engine in manifest["engines"].values()}


def _status(build: str) -> str:
    (result,) = boto3.client("codebuild").batch_get_builds(ids=[build])["builds"]
    return result["buildStatus"]


# In this order: each test goes on where the one before has stopped.


def test_a_deploy_that_gives_up_leaves_its_gpu_build_to_the_next(
    gave_up: str, deployed: GpuStage
) -> None:
    (build,) = _gpu_builds()
    assert f"{build} still compiles the engine" in gave_up


def test_another_endpoint_and_a_changed_word_compile_no_engine(deployed: GpuStage) -> None:
    before = _gpu_builds()
    assert len(_keys("engines/", "result.json")) == 1
    (job,) = _engine_jobs(f"one/{target_in(deployed.aws, TARGET)}/scaled")
    with deployed.edited(f"{SCALED_FOLDER}/words/1/model.py", "given = [", "words = given = ["):
        assert deployed.build("two/changed") == 0
    assert _engine_jobs("two/changed") == {job}
    assert _gpu_builds() == before


def test_models_without_an_engine_need_no_gpu(deployed: GpuStage) -> None:
    assert len(_gpu_builds()) == 1
    assert _keys(f"one/{target_in(deployed.aws, TARGET)}/times", ".tar.gz")
