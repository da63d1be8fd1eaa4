"""A stage with inference components on the local SageMaker, served by a real Triton."""

import json
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import pytest

from endpoint_client import EndpointClient, NoCopies
from local_sagemaker.settings import SPEED
from local_sagemaker.tests.support.tiny_models import TIMES
from local_sagemaker.tests.support.waiting import eventually
from model_build.__main__ import main as publish
from tests.local.commands import run_as
from tests.local.conftest import Checkout
from tests.local.invoking import call_repeatedly
from tests.local.repository import Repository
from tests.local.runbook import script
from tests.local.shell import paste
from tests.tritonsm import tritonsm

STAGE = """
account: "000000000000"
region: us-east-1
release: "24.09"
unconfirmed: [components]
endpoints:
  math:
    models: [times, idle]
    hosting: components
    instance_type: ml.m5.xlarge
    instances: { min: 0, max: 2 }
    components:
      times: { copies: { min: 1, max: 1 }, memory_mb: 1024 }
      idle:
        copies: { min: 0, max: 2, max_rps: 100, scale_in_cooldown_seconds: 60 }
        memory_mb: 1024
"""
ENDPOINT = "parts-math-m5-xlarge"
ENTRY = "/triton/parts/math/{}"


@pytest.fixture(scope="module")
def _fast() -> Iterator[None]:
    """AWS's minutes have a quarter of a second, and a client that waits calls as often."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SPEED, "240")
        patch.setattr("endpoint_client._retries.MAX_PAUSE", 0.2)
        yield


@pytest.fixture(scope="module")
def parts(_fast: None, checkout: Checkout) -> Repository:
    repository = Repository.of(checkout, parts=STAGE)
    repository.write_model("times", TIMES.replace("FACTOR", "2"), answer=14)
    repository.write_model("idle", TIMES.replace("FACTOR", "3"), answer=21)
    repository.commit("twice")
    repository.deliver()
    return repository


@pytest.fixture
def invoke(parts: Repository) -> Callable[[str], float]:
    """Invoke a model without waiting for a copy."""
    client = EndpointClient(stage="parts", endpoint="math", catalog_ttl=0)

    def invoked(model: str) -> float:
        return float(client.invoke(model, {"X": np.array([[7]], np.float32)})["Y"][0, 0])

    return invoked


def run(parts: Repository, caller: str, *arguments: str) -> Any:
    """Return the JSON that a command of `tritonsm` prints."""
    with chdir(parts.path):
        finished = run_as(caller, tritonsm, *arguments, "--json")
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def has_copies(count: int) -> bool:
    """Return whether `idle` has so many copies, and is not scaling."""
    name = f"{ENDPOINT}-idle"
    described = boto3.client("sagemaker").describe_inference_component(InferenceComponentName=name)
    is_at_rest = described["InferenceComponentStatus"] == "InService"
    return is_at_rest and described["RuntimeConfig"]["CurrentCopyCount"] == count


def copies_on_the_page(parts: Repository) -> dict[str, int]:
    url = f"{parts.aws.environment['AWS_ENDPOINT_URL']}/_local_sagemaker/state"
    with urllib.request.urlopen(url) as answer:
        (endpoint,) = json.load(answer)["endpoints"]
    assert endpoint["name"] == ENDPOINT
    (variant,) = endpoint["variants"]
    return {each["name"]: each["current_count"] for each in variant["components"]}


def test_a_component_scales_to_zero_and_back_while_another_is_called(
    parts: Repository, invoke: Callable[[str], float]
) -> None:
    with call_repeatedly(lambda: invoke("times"), lambda: invoke("times")):
        eventually(lambda: has_copies(0))
        asleep = {f"{ENDPOINT}-idle": 0, f"{ENDPOINT}-times": 1}
        assert copies_on_the_page(parts) == asleep
        report = run(parts, "status", "status", "parts")
        assert [endpoint["name"] for endpoint in report["endpoints"]] == [ENDPOINT]
        assert {each["name"]: each["copies"] for each in report["components"]} == asleep
        assert (report["differences"], report["denied"]) == ([], [])

        with pytest.raises(NoCopies):
            invoke("idle")
        woken = run(parts, "application", "invoke", "parts", "math", "idle", "--wait", "3600")
        assert woken["outputs"]["Y"]["data"] == [21]


def test_a_copy_is_started_by_hand_as_the_runbook_says(parts: Repository, tmp_path: Path) -> None:
    eventually(lambda: has_copies(0))
    commands = script("An inference component has no copy ✔ local")
    variables = {"STAGE": "parts", "COMPONENT": f"{ENDPOINT}-idle"}
    pasted = paste(parts, tmp_path, commands, variables)
    assert pasted.returncode == 0, pasted.stdout
    eventually(lambda: has_copies(1))


def test_publishing_is_refused_with_what_to_do_instead(parts: Repository) -> None:
    model = str(parts.path / "models" / "times")
    refused = run_as("publisher", publish, "publish", "parts", "math", model)
    assert refused.returncode == 1
    assert f"{ENDPOINT} is not a multi-model endpoint" in refused.stderr
    assert "tritonsm deliver" in refused.stderr


def test_a_delivery_wakes_what_sleeps_and_the_stage_is_rolled_back_and_destroyed(
    parts: Repository, invoke: Callable[[str], float]
) -> None:
    eventually(lambda: has_copies(0))
    parts.write_model("times", TIMES.replace("FACTOR", "4"), answer=28)
    parts.commit("four times")
    assert "invoked" not in parts.deliver()
    assert invoke("times") == 28

    parts.deliver("rollback-stage")
    assert invoke("times") == 14

    destroyed = parts.cdk("destroy", "parts-math", "--force")
    assert destroyed.returncode == 0, destroyed.stdout
    assert boto3.client("sagemaker").list_inference_components()["InferenceComponents"] == []
    assert boto3.client("sagemaker").list_endpoints()["Endpoints"] == []
