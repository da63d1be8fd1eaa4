"""Scaling, and an engine that CodeBuild's GPU compiles for an endpoint with a GPU."""

from collections.abc import Callable

import boto3
import numpy as np
import pytest

from endpoint_client import EndpointClient
from tests.aws.ladder import GPU_STAGE, REGION, STAGE, Ladder, traffic, wait_for
from tests.torch_source import torch_source

Answer = Callable[[object], None]
GPU_TYPE = "ml.g5.xlarge"
GPU_FILES = {
    f"stages/{GPU_STAGE}.yaml": f"""
region: {REGION}
release: "25.09"
log_retention_days: 1
tags: {{ triton-ladder: temporary }}
endpoints:
  gpu: {{ models: [engine], instance_type: {GPU_TYPE} }}
""",
    "models/engine/recipe.yaml": """
description: A linear layer
files:
  engine/1/model.plan:
    to: tensorrt
    source: export.py:layer
    opset: 18
    gate: { max_absolute_difference: 1.0e-5 }
    engine:
      precision: fp16
      profiles: [ { X: { min: [1, 2], opt: [2, 2], max: [4, 2] } } ]
      gate: { max_absolute_difference: 1.0e-2 }
""",
    "models/engine/export.py": torch_source("layer", "torch.nn.Linear(2, 2)"),
    "models/engine/engine/config.pbtxt": """
platform: "tensorrt_plan"
max_batch_size: 4
input [ { name: "X" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 2 ] } ]
""",
}


@pytest.mark.aws("dollars", "scales to two instances and back", instances=2, minutes=60)
def test_instances_follow_the_calls(deployed: Ladder, answer: Answer) -> None:
    deployed.configure("scaling: { min_count: 1, max_count: 2, max_rps: 0.1 }")
    deployed.tritonsm("deploy", STAGE)
    observed = set[tuple[str, str, bool]]()

    def has(count: int) -> bool:
        endpoint = deployed.endpoint()
        is_updating = "PendingDeploymentSummary" in endpoint
        observed.add((endpoint["EndpointStatus"], endpoint["EndpointConfigName"], is_updating))
        (variant,) = endpoint["ProductionVariants"]
        return bool(variant["CurrentInstanceCount"] == count)

    with traffic() as results:
        assert wait_for(lambda: has(2), 30 * 60)
    assert wait_for(lambda: has(1), 40 * 60)
    statuses = sorted({status for status, _, _ in observed})
    answer(
        f"{dict(results)}; {statuses}, {len({config for _, config, _ in observed})} configuration"
    )
    assert {(config, updating) for _, config, updating in observed} == {
        (deployed.endpoint()["EndpointConfigName"], False)
    }
    assert set(results) == {"answered"}


@pytest.mark.aws(
    "dollars",
    "compiles an engine on CodeBuild's GPU, and serves it",
    instances=1,
    minutes=60,
    instance_type=GPU_TYPE,
)
def test_an_engine_is_compiled_and_answers(ladder: Ladder, answer: Answer, emulated: bool) -> None:
    for name, text in GPU_FILES.items():
        ladder.write(name, text)
    ladder.tritonsm("lint", "models/engine")
    if emulated:
        pytest.skip("the emulator has neither a GPU nor TensorRT")
    ladder.tritonsm("deploy", GPU_STAGE)
    session = boto3.Session(region_name=REGION)
    client = EndpointClient(stage=GPU_STAGE, endpoint="gpu", session=session, wait_until_ready=300)
    output = client.invoke("engine", {"X": np.zeros((1, 2), np.float32)})["Y"]
    answer(f"the engine answers {output.tolist()}")
    assert output.shape == (1, 2)
