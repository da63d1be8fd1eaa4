"""A stage with inference components on the local SageMaker, served by a real Triton."""

import json
import urllib.request
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import boto3
import pytest

from endpoint_client import EndpointClient, NoCopies
from local_sagemaker.settings import SPEED
from local_sagemaker.tests.support.tiny_models import times
from local_sagemaker.tests.support.waiting import eventually
from tests.local.commands import run_as
from tests.local.conftest import Checkout, stage_file
from tests.local.invoking import call_repeatedly, predict
from tests.local.repository import Repository
from tests.local.shell import run_script
from tests.runbook import script
from tests.tritonsm import tritonsm

pytestmark = pytest.mark.drill

STAGE = stage_file("""
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
""")
ENDPOINT = "parts-math-m5-xlarge"
SETTINGS = {SPEED: "120"}  # a copy without calls ends after 15 minutes: here, seven seconds


@pytest.fixture(scope="module")
def repository(checkout: Checkout, module_patch: pytest.MonkeyPatch) -> Repository:
    # Longer pauses could exceed the idle time of a copy.
    module_patch.setattr("endpoint_client._retries.MAX_PAUSE", 0.2)
    repository = Repository.create(checkout, parts=STAGE)
    repository.write_model("idle", times(3), answer=21)
    repository.commit("twice")
    repository.deliver()
    return repository


@pytest.fixture
def invoke(repository: Repository) -> Callable[[str], float]:
    """Function that invokes a model without waiting for a copy."""
    client = EndpointClient(stage="parts", endpoint="math", catalog_ttl=0)
    return lambda model: predict(client, model)


def run(repository: Repository, principal: str, *arguments: str) -> Any:
    """Return the JSON output of a command of tritonsm."""
    with chdir(repository.path):
        process = run_as(principal, tritonsm, *arguments, "--json")
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def has_copies(count: int) -> bool:
    """Return whether `idle` has this number of copies and is not scaling."""
    name = f"{ENDPOINT}-idle"
    described = boto3.client("sagemaker").describe_inference_component(InferenceComponentName=name)
    is_stable = described["InferenceComponentStatus"] == "InService"
    return is_stable and described["RuntimeConfig"]["CurrentCopyCount"] == count


def dashboard_copies(repository: Repository) -> dict[str, int]:
    url = f"{repository.aws.environment['AWS_ENDPOINT_URL']}/_local_sagemaker/state"
    with urllib.request.urlopen(url) as response:
        (endpoint,) = json.load(response)["endpoints"]
    assert endpoint["name"] == ENDPOINT
    (variant,) = endpoint["variants"]
    return {component["name"]: component["current_count"] for component in variant["components"]}


def test_component_scales_to_zero_and_back(
    repository: Repository, invoke: Callable[[str], float]
) -> None:
    with call_repeatedly(lambda: invoke("times"), lambda: invoke("times")):
        eventually(lambda: has_copies(0))
        expected = {f"{ENDPOINT}-idle": 0, f"{ENDPOINT}-times": 1}
        assert dashboard_copies(repository) == expected
        report = run(repository, "status", "status", "parts")
        assert [endpoint["name"] for endpoint in report["endpoints"]] == [ENDPOINT]
        copies = {component["name"]: component["copies"] for component in report["components"]}
        assert copies == expected
        assert (report["differences"], report["denied"]) == ([], [])

        with pytest.raises(NoCopies):
            invoke("idle")
        response = run(
            repository, "application", "invoke", "parts", "math", "idle", "--wait", "3600"
        )
        assert response["outputs"]["Y"]["data"] == [21]


def suspend_scale_in(suspended: bool) -> None:
    boto3.client("application-autoscaling").register_scalable_target(
        ServiceNamespace="sagemaker",
        ResourceId=f"inference-component/{ENDPOINT}-idle",
        ScalableDimension="sagemaker:inference-component:DesiredCopyCount",
        SuspendedState={"DynamicScalingInSuspended": suspended},
    )


def test_runbook_starts_a_copy(repository: Repository, tmp_path: Path) -> None:
    eventually(lambda: has_copies(0))
    suspend_scale_in(True)  # the alarm of an idle copy would end it within a second
    commands = script("An inference component has no copy")
    variables = {"STAGE": "parts", "COMPONENT": f"{ENDPOINT}-idle"}
    run_script(repository, tmp_path, commands, variables)
    eventually(lambda: has_copies(1))
    suspend_scale_in(False)


def test_component_stage_is_delivered_rolled_back_and_destroyed(
    repository: Repository, invoke: Callable[[str], float]
) -> None:
    eventually(lambda: has_copies(0))
    repository.write_model("times", times(4), answer=28)
    repository.commit("four times")
    assert "invoked" not in repository.deliver()
    assert invoke("times") == 28

    repository.run("rollback-stage", "parts")
    assert invoke("times") == 14

    repository.cdk("destroy", "parts-math", "--force")
    assert boto3.client("sagemaker").list_inference_components()["InferenceComponents"] == []
    assert boto3.client("sagemaker").list_endpoints()["Endpoints"] == []
