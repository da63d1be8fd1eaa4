"""A deployed stage with GPU instances, whose engines are compiled on a fake GPU."""

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
import pytest

from local_sagemaker.tests.support.tiny_models import write, write_python
from local_sagemaker.tests.support.waiting import eventually
from model_build.__main__ import main
from model_build.engines import codebuild
from model_build.source import ModelSource
from platform_facts.rules.builds import BuildItem
from tests.local.conftest import ROOT, Checkout, local_target
from tests.local.stage_resources import bucket_keys, models_bucket, read_object

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
    "words/1/model.py": PASS_THROUGH,
    "scale/config.pbtxt": f'platform: "tensorrt_plan"\n{TENSORS % ("W", "Y")}',
}
TARGET = "cuda-25.09-sm86"
SCALED_FOLDER = "models/scaled"
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


@dataclass(frozen=True)
class GpuStage(Checkout):
    """A stage with a GPU project; the file `gpu` has the PYTHONPATH of a fake GPU, or is empty."""

    gpu: Path = Path()

    def build(self, archive: str) -> int:
        """Build `scaled` in this process, as another deploy would; return the exit code."""
        bucket, model = models_bucket("gpu"), ModelSource(self.path / SCALED_FOLDER)
        source = f"sources/{model.digest}.zip"
        with TemporaryDirectory() as folder:
            file = shutil.make_archive(f"{folder}/source", "zip", model.folder)
            boto3.client("s3").upload_file(file, bucket, source)
        item = BuildItem(
            source=source,
            model=model.name,
            digest=model.digest,
            target=local_target(self.aws, TARGET),
            key=f"{archive}.tar.gz",
        )
        content = f"{item.as_json()}\n".encode()
        boto3.client("s3").put_object(Bucket=bucket, Key="lists/one.jsonl", Body=content)
        return main(
            [
                *("build-list", f"{bucket}/lists/one.jsonl", "--lines", "1"),
                *("--digest", hashlib.sha256(content).hexdigest()),
                *("--bucket", bucket, "--sources", bucket),
                *("--gpu-project", _project("GpuProject")),
            ]
        )


@pytest.fixture(scope="module")
def gpu_stage(checkout: Checkout) -> GpuStage:
    """A stage that is not deployed, without a GPU."""
    checkout.write_stage("gpu", STAGE)
    write(checkout.path / SCALED_FOLDER, SCALED)
    write_python(checkout.path / "models" / "times", PASS_THROUGH.replace('"W"', '"Y"'))
    gpu = checkout.path / "gpu"
    gpu.touch()
    step = "python3 -m gpu_step"
    checkout.edit("stacks/model_stack.py", step, f"PYTHONPATH=$(cat {gpu}) {step}")
    return GpuStage(checkout.path, checkout.aws, "gpu", gpu)


@pytest.fixture(scope="module")
def output_without_waiting(gpu_stage: GpuStage, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Output of a deploy that did not wait for its engine; the GPU build has ended since."""
    folder = tmp_path_factory.mktemp("waits")
    (folder / "tensorrt.py").write_text(SLOW_TENSORRT.replace("MARKER", str(folder / "marker")))
    gpu_stage.gpu.write_text(f"{folder}:{STAND_IN}")
    handler = "constructs/triton_sagemaker/build_handler/index.py"
    with (
        gpu_stage.edited("platform_facts/rules/updates.py", *NO_WAIT),
        gpu_stage.edited(handler, *LONG_GRACE),
    ):
        output = gpu_stage.deploy(code=1)
    (folder / "marker").touch()
    eventually(lambda: _status(_gpu_builds()[0]) != "IN_PROGRESS")
    return output


@pytest.fixture(scope="module")
def deployed(gpu_stage: GpuStage, output_without_waiting: str) -> GpuStage:
    """The stage, deployed with a fake GPU."""
    gpu_stage.deploy_assembly()
    return gpu_stage


@pytest.fixture(autouse=True)
def _frequent_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codebuild, "POLL_SECONDS", 0.1)


def _project(output_key: str) -> str:
    outputs = boto3.client("cloudformation").describe_stacks(StackName="gpu-models")["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in outputs["Outputs"]}[output_key]


def _gpu_builds() -> list[str]:
    """Return the IDs of all GPU builds, newest first."""
    client: Any = boto3.client("codebuild")
    return list(client.list_builds_for_project(projectName=_project("GpuProject"))["ids"])


def _engine_jobs(prefix: str) -> set[str]:
    """Return the engine jobs of the manifests with a prefix."""
    bucket = models_bucket("gpu")
    keys = [key for key in bucket_keys(bucket, prefix) if key.endswith(".json")]
    manifests = [json.loads(read_object(bucket, key)) for key in keys]
    return {engine["job"] for manifest in manifests for engine in manifest["engines"].values()}


def _status(build: str) -> str:
    (description,) = boto3.client("codebuild").batch_get_builds(ids=[build])["builds"]
    return description["buildStatus"]


# The tests depend on each other and run in this order.


def test_next_deploy_uses_the_gpu_build_of_the_first(
    output_without_waiting: str, deployed: GpuStage
) -> None:
    (build,) = _gpu_builds()
    assert f"{build} is still compiling the engine" in output_without_waiting


def test_changed_python_step_reuses_the_engine(deployed: GpuStage) -> None:
    before = _gpu_builds()
    engines = bucket_keys(models_bucket("gpu"), "engines/")
    assert len([key for key in engines if key.endswith("result.json")]) == 1
    (job,) = _engine_jobs(f"one/{local_target(deployed.aws, TARGET)}/scaled")
    with deployed.edited(f"{SCALED_FOLDER}/words/1/model.py", "arrays = [", "words = arrays = ["):
        assert deployed.build("two/changed") == 0
    assert _engine_jobs("two/changed") == {job}
    assert _gpu_builds() == before


def test_model_without_an_engine_starts_no_gpu_build(deployed: GpuStage) -> None:
    assert len(_gpu_builds()) == 1
    times = bucket_keys(models_bucket("gpu"), f"one/{local_target(deployed.aws, TARGET)}/times")
    assert any(key.endswith(".tar.gz") for key in times)
