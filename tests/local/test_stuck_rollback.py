"""A rollback that CloudFormation cannot finish, until deliveries work again, in this order."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import pytest

from endpoint_client import EndpointClient
from local_sagemaker.tests.support.tiny_models import PLUS_ONE, TIMES
from tests.local.conftest import Checkout
from tests.local.invoking import call_repeatedly
from tests.local.repository import Repository
from tests.local.rollback_alarms import errors_of_present_instances
from tests.local.runbook import script
from tests.local.shell import paste

STAGE, NAME = Path("stages", "stuck.yaml"), "stuck-math"
CONTENT = """
account: "000000000000"
region: us-east-1
release: "24.09"
endpoints:
  math:
    models: [times]
    instance_type: ml.m5.xlarge
    instance_count: 2
    server: { log_verbose: 0 }
"""


@pytest.fixture(scope="module")
def repository(checkout: Checkout) -> Repository:
    repository = Repository.of(checkout, stuck=CONTENT)
    repository.write_model("times", TIMES.replace("FACTOR", "2"), answer=14)
    repository.commit("twice")
    repository.deliver()
    return repository


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bin")


@cache
def client() -> EndpointClient:
    return EndpointClient(stage="stuck", endpoint="math", catalog_ttl=0)


def ask() -> float:
    return float(client().invoke("times", {"X": np.array([[7]], np.float32)})["Y"][0, 0])


def status() -> str:
    (stack,) = boto3.client("cloudformation").describe_stacks(StackName=NAME)["Stacks"]
    return stack["StackStatus"]


def get_stuck(repository: Repository, *, by_hand: str) -> str:
    """Deliver a commit whose update and rollback fail; return the output.

    The stack cannot make the entry of a model that somebody has made by hand. By then the endpoint
    is updated, and it stays so, since the alarms of the old configuration roll the rollback back.
    """
    ssm: Any = boto3.client("ssm")
    entry = ssm.get_parameter(Name="/triton/stuck/math/times")["Parameter"]["Value"]
    name = f"/triton/stuck/math/{by_hand}"
    ssm.put_parameter(Name=name, Value=entry, Type="String")
    with errors_of_present_instances(NAME), call_repeatedly(ask):
        output = repository.deliver("deliver", "--ignore-preflight", code=2)
    ssm.delete_parameter(Name=name)
    assert status() == "UPDATE_ROLLBACK_FAILED"
    return output


def way_on(output: str) -> str:
    """Return what a message says about the stack, from its status on."""
    return " ".join(output[output.index(f"{NAME} is UPDATE_ROLLBACK_FAILED") :].split())


def test_until_a_rollback_is_continued_nothing_is_delivered_or_rolled_back(
    repository: Repository,
) -> None:
    repository.edit(str(STAGE), "log_verbose: 0", "log_verbose: 1")
    repository.edit(str(STAGE), "[times]", "[times, plus]")
    repository.write_model("times", TIMES.replace("FACTOR", "3"), answer=21)
    repository.write_model("plus", PLUS_ONE, answer=8)
    repository.commit("thrice, and plus")
    output = get_stuck(repository, by_hand="plus")
    before = deliveries()
    for command in ("deliver", "rollback-stage"):
        refused = repository.deliver(command, code=1)
        assert "not delivered: Nothing was changed" in refused
        assert way_on(refused) == way_on(output)
    assert deliveries() == before


def deliveries() -> Any:
    value = boto3.client("ssm").get_parameter(Name="/triton/stuck/delivered")["Parameter"]["Value"]
    return json.loads(value)


def test_the_commands_of_the_runbook_that_the_message_names_make_the_stack_work_again(
    repository: Repository, bin_folder: Path
) -> None:
    message = way_on(repository.deliver(code=1))
    heading = "CloudFormation could not roll an update back"
    assert f'docs/runbook.md, "{heading}", with NAME={NAME}' in message
    runbook = script(heading)
    with call_repeatedly(ask):
        pasted = paste(repository, bin_folder, runbook, {"NAME": NAME})
        assert pasted.returncode == 0, pasted.stdout
        assert status() == "UPDATE_ROLLBACK_COMPLETE"
        repository.deliver()
    assert ask() == 21
    assert "--resources-to-skip EndpointCheck" in message


def test_an_endpoint_whose_configuration_went_with_a_skipped_rollback_is_mended_in_service(
    repository: Repository, bin_folder: Path
) -> None:
    """Somebody skips at once, and CloudFormation deletes what the endpoint serves with."""
    repository.edit(str(STAGE), "log_verbose: 1", "log_verbose: 0")
    repository.edit(str(STAGE), "[times, plus]", "[times, plus, minus]")
    repository.write_model("minus", PLUS_ONE.replace("+ 1", "- 1"), answer=6)
    repository.commit("minus")
    message = way_on(get_stuck(repository, by_hand="minus"))
    (skip,) = re.findall(r"--resources-to-skip [\w ]+", message)
    *_, retry, wait = script("CloudFormation could not roll an update back").splitlines()
    with call_repeatedly(ask):
        pasted = paste(repository, bin_folder, f"{retry} {skip}\n{wait}", {"NAME": NAME})
        assert pasted.returncode == 0, pasted.stdout
        refused = " ".join(repository.deliver(code=1).split())
        assert "The configuration of an endpoint is gone" in refused
        assert "Do not destroy the stack" in refused
        runbook = script("The configuration of an endpoint is gone")
        mending = paste(repository, bin_folder, runbook, {"NAME": NAME})
        assert mending.returncode == 0, mending.stdout
        repository.deliver()
