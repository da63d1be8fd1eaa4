"""A deployed stage with GPU instances, whose engines are compiled on a fake GPU."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest

from local_sagemaker.tests.support.tiny_models import write, write_python
from local_sagemaker.tests.support.waiting import eventually
from tests.local.conftest import ROOT, Checkout, local_target
from tests.local.stage_resources import bucket_keys, models_bucket, read_object
from tests.torch_source import torch_source

pytestmark = pytest.mark.drill

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
PASS_THROUGH = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(r, "X").as_numpy() for r in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("W", array)]) for array in arrays]
"""
SCALED = {
    "recipe.yaml": """
description: Numbers scaled by an engine
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
    "export.py": torch_source("scale", "torch.nn.Linear(2, 2)", tensor="W"),
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
    "words/1/model.py": PASS_THROUGH,
    "scale/config.pbtxt": f'platform: "tensorrt_plan"\n{TENSORS % ("W", "Y")}',
}
TARGET = "cuda-25.09-sm86"
STAND_IN = ROOT / "tests" / "gpu_stand_in"
SLOW_TENSORRT = f"""
import pathlib, time
while not pathlib.Path("MARKER").exists():
    time.sleep(0.05)
exec(open("{STAND_IN}/tensorrt.py").read())
"""
NO_WAIT = ("BUILD_WAIT_MINUTES = 50", "BUILD_WAIT_MINUTES = 0")
"""Edit of a checkout: builds of a deploy do not wait for engines."""
LONG_GRACE = ("GRACE_SECONDS = 120", "GRACE_SECONDS = 3600")
"""Edit of a checkout: a deploy waits for its builds also on a busy machine."""


@pytest.fixture(scope="module")
def stage(checkout: Checkout) -> Checkout:
    """A stage that is not deployed; the file `gpu` has the PYTHONPATH of a fake GPU."""
    checkout.write_stage("gpu", STAGE)
    write(checkout.path / "models" / "scaled", SCALED)
    write_python(checkout.path / "models" / "times", PASS_THROUGH.replace('"W"', '"Y"'))
    step = "python3 -m gpu_step"
    with_gpu = f"PYTHONPATH=$(cat {checkout.path / 'gpu'}) {step}"
    checkout.edit("stacks/model_stack.py", step, with_gpu)
    return replace(checkout, stage="gpu")


def _gpu_builds() -> list[str]:
    """Return the IDs of all GPU builds."""
    outputs = boto3.client("cloudformation").describe_stacks(StackName="gpu-models")["Stacks"][0]
    names = {output["OutputKey"]: output["OutputValue"] for output in outputs["Outputs"]}
    client: Any = boto3.client("codebuild")
    return list(client.list_builds_for_project(projectName=names["GpuProject"])["ids"])


def _status(build: str) -> str:
    (description,) = boto3.client("codebuild").batch_get_builds(ids=[build])["builds"]
    return description["buildStatus"]


def test_next_deploy_uses_the_gpu_build_of_the_first(stage: Checkout, tmp_path: Path) -> None:
    (tmp_path / "tensorrt.py").write_text(SLOW_TENSORRT.replace("MARKER", str(tmp_path / "marker")))
    (stage.path / "gpu").write_text(f"{tmp_path}:{STAND_IN}")
    handler = "constructs/triton_sagemaker/build_handler/index.py"
    with (
        stage.edited("platform_facts/rules/updates.py", *NO_WAIT),
        stage.edited(handler, *LONG_GRACE),
    ):
        output = stage.deploy(code=1)
    (build,) = _gpu_builds()  # the model without an engine has none
    assert f"{build} is still compiling the engine" in output
    (tmp_path / "marker").touch()
    eventually(lambda: _status(build) != "IN_PROGRESS")
    stage.deploy_assembly()
    assert _gpu_builds() == [build]
    bucket = models_bucket("gpu")
    (manifest,) = (
        json.loads(read_object(bucket, key))
        for key in bucket_keys(bucket, f"one/{local_target(stage.aws, TARGET)}/scaled")
        if key.endswith(".json")
    )
    (engine,) = manifest["engines"].values()
    assert f"engines/{engine['job']}/result.json" in bucket_keys(bucket, "engines/")
