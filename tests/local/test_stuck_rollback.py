"""A rollback that CloudFormation cannot finish, and the commands that repair the stack.

The tests depend on each other, in the order of this file.
"""

import re
import threading
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest

from endpoint_client import EndpointClient
from local_sagemaker.tests.support.tiny_models import PLUS_ONE, times
from local_sagemaker.tests.support.waiting import eventually
from tests.local.conftest import Checkout, stage_file
from tests.local.invoking import call_repeatedly, predict
from tests.local.repository import Repository
from tests.local.rollback_alarms import alarms_of_current_instances
from tests.local.shell import run_script
from tests.local.stage_resources import bucket_keys, models_bucket
from tests.runbook import script

pytestmark = pytest.mark.drill

STAGE_FILE, STACK = Path("stages", "stuck.yaml"), "stuck-math"
STAGE = stage_file("""
endpoints:
  math:
    models: [times]
    instance_type: ml.m5.xlarge
    instance_count: 2
    server: { log_verbose: 0 }
""")


@pytest.fixture(scope="module")
def repository(checkout: Checkout) -> Repository:
    repository = Repository.create(checkout, stuck=STAGE)
    repository.commit("twice")
    repository.deliver()
    return repository


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bin")


@cache
def client() -> EndpointClient:
    return EndpointClient(stage="stuck", endpoint="math", catalog_ttl=0)


def call() -> float:
    return predict(client())


def status() -> str:
    (stack,) = boto3.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
    return stack["StackStatus"]


def deliver_stuck_rollback(repository: Repository) -> str:
    """Deliver a commit whose update and rollback fail; return the output.

    The update fails because the function that writes the catalog does not start. By then the
    endpoint is updated, and alarms of its old configuration make the rollback fail.
    """
    functions: Any = boto3.client("lambda")
    (writer,) = (
        function
        for page in functions.get_paginator("list_functions").paginate()
        for function in page["Functions"]
        if function["FunctionName"].startswith("stuck-models-CatalogWriterOnEvent")
    )

    def set_handler(name: str) -> None:
        functions.update_function_configuration(FunctionName=writer["FunctionName"], Handler=name)

    def restore_during_rollback() -> None:
        eventually(lambda: status() in ("UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_ROLLBACK_FAILED"))
        set_handler(writer["Handler"])

    set_handler("index.missing")
    restoring = threading.Thread(target=restore_during_rollback)
    restoring.start()
    with alarms_of_current_instances(STACK), call_repeatedly(call):
        output = repository.deliver("--ignore-preflight", code=2)
    restoring.join()
    assert status() == "UPDATE_ROLLBACK_FAILED"
    return output


def message_about_stack(output: str) -> str:
    """Return the message about the stack, the end of an output, on one line."""
    message = " ".join(output[output.index(f"{STACK} is UPDATE_ROLLBACK_FAILED") :].split())
    return message.partition(" For a bug report:")[0]


def test_failed_rollback_blocks_deliveries(repository: Repository) -> None:
    repository.edit(str(STAGE_FILE), "log_verbose: 0", "log_verbose: 1")
    repository.edit(str(STAGE_FILE), "[times]", "[times, plus]")
    repository.write_model("times", times(3), answer=21)
    repository.write_model("plus", PLUS_ONE, answer=8)
    repository.commit("three times, and plus")
    output = deliver_stuck_rollback(repository)
    keys = bucket_keys(models_bucket("stuck"))
    for command in ("deliver", "rollback-stage"):
        refusal = repository.run(command, "stuck", code=1)
        assert "not delivered: Nothing was changed" in refusal
        assert message_about_stack(refusal) == message_about_stack(output)
    assert bucket_keys(models_bucket("stuck")) == keys  # no record either


def test_runbook_continues_the_rollback(repository: Repository, bin_folder: Path) -> None:
    message = message_about_stack(repository.deliver(code=1))
    heading = "CloudFormation could not roll an update back"
    assert f'docs/runbook.md, "{heading}", with NAME={STACK}' in message
    runbook = script(heading)
    with call_repeatedly(call):
        run_script(repository, bin_folder, runbook, {"NAME": STACK})
        assert status() == "UPDATE_ROLLBACK_COMPLETE"
        repository.deliver()
    assert call() == 21
    assert "--resources-to-skip EndpointCheck" in message


def test_runbook_restores_a_deleted_configuration(repository: Repository, bin_folder: Path) -> None:
    # Skipping the check makes CloudFormation delete the configuration that the endpoint uses.
    repository.edit(str(STAGE_FILE), "log_verbose: 1", "log_verbose: 0")
    repository.edit(str(STAGE_FILE), "[times, plus]", "[times, plus, minus]")
    repository.write_model("minus", PLUS_ONE.replace("+ 1", "- 1"), answer=6)
    repository.commit("minus")
    message = message_about_stack(deliver_stuck_rollback(repository))
    (skip,) = re.findall(r"--resources-to-skip [\w ]+", message)
    *_, retry, wait = script("CloudFormation could not roll an update back").splitlines()
    with call_repeatedly(call):
        run_script(repository, bin_folder, f"{retry} {skip}\n{wait}", {"NAME": STACK})
        refusal = " ".join(repository.deliver(code=1).split())
        assert "The configuration of an endpoint is gone" in refusal
        assert "Do not destroy the stack" in refusal
        runbook = script("The configuration of an endpoint is gone")
        run_script(repository, bin_folder, runbook, {"NAME": STACK})
        repository.deliver()
