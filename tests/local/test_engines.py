"""A stage with GPUs, deployed: its engines are compiled by a GPU step whose GPU is a stand-in."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from tests.local.conftest import ROOT, Checkout
from tests.local.tiny_models import write, write_python

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

STAGE = """
account: "000000000000"
region: us-east-1
release: "25.09"
endpoints:
  one: { models: [scaled, times], instance_type: ml.g5.xlarge }
  two: { models: [scaled], instance_type: ml.g5.2xlarge }
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
WITH_A_GPU = ("python3 -m gpu_step", f"PYTHONPATH={ROOT}/tests/gpu_stand_in python3 -m gpu_step")
"""An edit of the GPU project's buildspec."""


@pytest.fixture(scope="module")
def gpu_stage(checkout: Checkout) -> Checkout:
    """A stage of two endpoints that share an engine, not deployed; without a GPU."""
    (checkout.path / "stages" / "gpu.yaml").write_text(STAGE)
    write(checkout.path / "models" / "scaled", SCALED)
    write_python(checkout.path / "models" / "times", WORDS.replace('"W"', '"Y"'))
    return Checkout(checkout.path, checkout.aws, "gpu")


@pytest.fixture(scope="module")
def deployed(gpu_stage: Checkout) -> Iterator[Checkout]:
    """The stage, deployed with a GPU that is a stand-in."""
    gpu_stage.edit("stacks/model_stack.py", *WITH_A_GPU)
    finished = gpu_stage.deploy()
    assert finished.returncode == 0, finished.stdout
    yield gpu_stage
    gpu_stage.again("destroy", "--all", "--force")


def _deploy_one(stage: Checkout) -> "subprocess.CompletedProcess[str]":
    """Deploy what builds, and one endpoint of the two."""
    return stage.cdk(
        "deploy", "gpu-models", "gpu-one", "--exclusively", "--require-approval", "never"
    )


def _project(kind: str) -> str:
    outputs = boto3.client("cloudformation").describe_stacks(StackName="gpu-models")["Stacks"][0]
    return {it["OutputKey"]: it["OutputValue"] for it in outputs["Outputs"]}[kind]


def _gpu_builds() -> list[str]:
    """The ids of all GPU builds, the newest first."""
    codebuild: Any = boto3.client("codebuild")
    found: list[str] = codebuild.list_builds_for_project(projectName=_project("GpuProject"))["ids"]
    return found


def _bucket() -> tuple["S3Client", str]:
    resources = boto3.client("cloudformation").describe_stack_resources(StackName="gpu-models")
    (bucket,) = [
        it["PhysicalResourceId"]
        for it in resources["StackResources"]
        if it["LogicalResourceId"].startswith("ModelsBucket")
        and it["ResourceType"] == "AWS::S3::Bucket"
    ]
    return boto3.client("s3"), bucket


def _keys(prefix: str, suffix: str = "") -> list[str]:
    s3, bucket = _bucket()
    found = s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", ())
    return [it["Key"] for it in found if it["Key"].endswith(suffix)]


def _engine_jobs(prefix: str) -> set[str]:
    """The jobs that the manifests below a prefix name."""
    s3, bucket = _bucket()
    manifests = [
        json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
        for key in _keys(prefix, ".json")
    ]
    return {it["job"] for manifest in manifests for it in manifest["engines"].values()}


def test_without_a_gpu_the_deploy_fails_with_the_steps_own_line(gpu_stage: Checkout) -> None:
    failed = gpu_stage.deploy()
    assert failed.returncode == 1
    assert "this machine has no NVIDIA driver (libcuda.so.1)" in failed.stdout
    assert _keys("engines/") == []
    assert not _keys("one/", ".json") or all("times" in it for it in _keys("one/", ".json"))


def test_two_endpoints_share_an_engine_and_models_without_one_need_no_gpu(
    deployed: Checkout,
) -> None:
    failed, compiled = 1, 1  # the failed one is of the test above
    assert len(_gpu_builds()) == failed + compiled
    assert len(_keys("engines/", "result.json")) == 1
    target = deployed.aws.target("cuda-25.09-sm86")
    one, two = (_engine_jobs(f"{name}/{target}/scaled") for name in ("one", "two"))
    assert one == two
    assert len(one) == 1
    assert _keys(f"one/{target}/times", ".tar.gz")


def test_a_changed_word_compiles_no_engine(deployed: Checkout) -> None:
    before = _gpu_builds()
    with deployed.edited("models/scaled/words/1/model.py", "given = [", "words = given = ["):
        changed = _deploy_one(deployed)
    assert changed.returncode == 0, changed.stdout
    assert _gpu_builds() == before
    scaled = f"one/{deployed.aws.target('cuda-25.09-sm86')}/scaled"
    assert len(_keys(scaled, ".tar.gz")) == 2
    assert len(_engine_jobs(scaled)) == 1


def test_an_engine_that_misses_its_gate_is_no_result_for_anybody(deployed: Checkout) -> None:
    accepted = _keys("engines/", "result.json")
    recipe = "models/scaled/recipe.yaml"
    with deployed.edited(recipe, "opt: [2, 2]", "opt: [3, 2]"):
        with deployed.edited(recipe, "1.0e-2", "1.0e-12"):
            missed = _deploy_one(deployed)
        assert missed.returncode == 1
        assert "model.plan differs from ONNX Runtime by" in missed.stdout
        assert _keys("engines/", "result.json") == accepted

        builds = _gpu_builds()
        widened = _deploy_one(deployed)  # what the step left is judged again, by the wider gate
        assert widened.returncode == 0, widened.stdout
    assert _gpu_builds() == builds
    assert len(_keys("engines/", "result.json")) == len(accepted) + 1


WAITS = """
import pathlib, time
while not pathlib.Path("MARKER").exists():
    time.sleep(0.05)
"""


def test_a_deploy_that_gives_up_leaves_its_gpu_build_to_the_next(
    deployed: Checkout, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"
    (tmp_path / "gpu").mkdir()
    (tmp_path / "gpu" / "tensorrt.py").write_text(
        WAITS.replace("MARKER", str(marker))
        + f'exec(open("{ROOT}/tests/gpu_stand_in/tensorrt.py").read())\n'
    )
    recipe = "models/scaled/recipe.yaml"
    before = _gpu_builds()
    with (
        deployed.edited(recipe, "opt: [2, 2]", "opt: [4, 2]"),
        deployed.edited("stacks/model_stack.py", "PYTHONPATH=", f"PYTHONPATH={tmp_path}/gpu:"),
    ):
        with deployed.edited("constructs/triton_sagemaker/model_builder.py", *NO_WAIT):
            late = _deploy_one(deployed)
        assert late.returncode == 1
        (build,) = set(_gpu_builds()) - set(before)
        assert f"{build} still compiles the engine" in late.stdout
        marker.touch()
        finished = _deploy_one(deployed)
        assert finished.returncode == 0, finished.stdout
    assert set(_gpu_builds()) == {build, *before}


NO_WAIT = ("WAIT = Duration.minutes(50)", "WAIT = Duration.minutes(0)")
"""An edit that lets builds of a deploy wait for no engine."""
