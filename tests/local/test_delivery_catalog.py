"""Deliveries to a stage that was changed manually, while clients call it.

The tests depend on each other, in the order of this file.
"""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, chdir
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import pytest

from delivery.command import RELEASE
from delivery.errors import ChangedByHand, EndpointLost, NotDelivered
from delivery.store import redelivery
from endpoint_client import EndpointClient
from local_sagemaker.tests.support.tiny_models import Barrier, times
from model_build.__main__ import main as model_command
from plan.catalog import Catalog
from tests.catalog_items import break_entry, delete_entry, write_entry
from tests.local.commands import run_as
from tests.local.conftest import Checkout, stage_file
from tests.local.invoking import call_repeatedly, predict
from tests.local.repository import Repository, pause_on_load
from tests.local.shell import run_script
from tests.runbook import script
from tests.tritonsm import tritonsm

pytestmark = pytest.mark.drill

STAGE = stage_file("""
endpoints:
  math:
    models: [times, plus]
    instance_type: ml.m5.xlarge
""")
STAGE_AND_ENDPOINT = ("live", "math")
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"


@pytest.fixture(scope="module")
def repository(checkout: Checkout) -> Repository:
    """A stage with a delivered first version of `times`."""
    repository = Repository.create(checkout, live=STAGE)
    repository.commit("twice")
    repository.deliver()
    return repository


@pytest.fixture(scope="module")
def catalog(repository: Repository) -> Catalog:
    return Catalog(boto3.client("dynamodb"), "live", "math")


def _client() -> EndpointClient:
    return EndpointClient(stage="live", endpoint="math", catalog_ttl=0)


def _version(model: str = "times") -> str:
    return _client().resolve(model).version


def _run(command: str) -> None:
    """Run a command line of `tritonsm`, for example one that a message proposes."""
    program, *arguments = shlex.split(command)
    assert program == "tritonsm"
    process = run_as("publisher", model_command, *arguments)
    assert process.returncode == 0, process.stderr


def _command(message: str, program: str) -> str:
    """Return the only command line of a program in a message."""
    (command,) = re.findall(rf"^ +({program} .+)$", message, re.M)
    return str(command)


def _calls(*models: str) -> AbstractContextManager[None]:
    """Call models in a loop during the `with` block; fail if a call fails."""
    client = _client()
    return call_repeatedly(*(partial(predict, client, model) for model in models))


def test_deploy_by_hand_is_shown_and_needs_take_over(repository: Repository) -> None:
    with repository.edited("stages/live.yaml", "ml.m5.xlarge", "ml.m5.2xlarge"):
        repository.deploy()  # as `cdk deploy` does
    (difference,) = _differences(repository, "live-math")
    assert difference["text"].startswith("deployed by hand after the delivery of")
    refusal = repository.deliver(code=1)
    assert "live-math: deployed by hand after the delivery of" in refusal
    assert "To replace them: TAKE_OVER=1" in refusal
    repository.deliver("--take-over")
    assert _differences(repository, "live-math") == []
    assert predict(_client()) == 14


def test_delivery_restores_a_deleted_entry(repository: Repository, catalog: Catalog) -> None:
    before = _version()
    with _calls("plus"):
        delete_entry(catalog, "times")
        report = _json_output(repository, "status", "live")
        output = repository.deliver()
        assert predict(_client()) == 14
    assert report["differences"] == [
        {
            "subject": "math/times",
            "text": "the catalog has no entry",
            "command": redelivery("live"),
        }
    ]
    assert _json_output(repository, "status", "live")["differences"] == []
    assert "! math/times: the catalog has no entry: restored" in output
    assert _version() == before


def test_delivery_restores_an_invalid_entry(repository: Repository, catalog: Catalog) -> None:
    before = _version()
    break_entry(catalog, "times")
    (entry,) = _differences(repository, "math/times")
    assert entry["text"] == "the catalog's entry is broken, changed without tritonsm"
    assert "! math/times: the catalog's entry is broken" in repository.deliver()
    assert (_version(), predict(_client())) == (before, 14)


def test_new_version_is_delivered_although_the_entry_was_deleted(
    repository: Repository, catalog: Catalog
) -> None:
    repository.write_model("times", times(4), answer=28)
    repository.commit("four times")
    delete_entry(catalog, "times")
    repository.deliver()
    assert predict(_client()) == 28


def test_manual_rollback_of_a_model_stops_the_delivery(repository: Repository) -> None:
    new = _version()
    with _calls("times", "plus"):
        _run("tritonsm rollback live math times")
        old = _version()
        output = repository.deliver(code=ChangedByHand.exit_code)
        ending = output[output.index("changed by hand:") :]
        changed = f"since {TIME}, by arn:aws:"
        assert re.search(f"the catalog has version {old} instead of {new}, {changed}", ending)
        assert "make rollback" not in output
        assert "cdk deploy" not in output
        assert _version() == old
        command = _command(ending, "tritonsm")
        assert command == f"tritonsm rollback live math times --to {new}"
        _run(command)
        repository.deliver()
    assert predict(_client()) == 28


def test_stage_rollback_to_the_manually_restored_version_succeeds(repository: Repository) -> None:
    _run("tritonsm rollback live math times")
    before = _version()
    with _calls("times", "plus"):
        output = repository.run("rollback-stage", "live")
    assert "changed by hand" not in output
    assert _version() == before
    repository.deliver()


def test_catalog_entry_without_a_model_is_reported(
    repository: Repository, catalog: Catalog
) -> None:
    write_entry(catalog, catalog.current()["times"].entry | {"model": "extra"})
    with _calls("times", "plus"):
        output = repository.deliver()
    assert "! math/extra: the catalog has version" in output
    assert f"does not have this model: {catalog.delete_command('extra')}" in output
    delete_entry(catalog, "extra")


def test_changes_during_a_delivery_are_refused(
    repository: Repository, new_barrier: Callable[[], Barrier], tmp_path: Path
) -> None:
    barrier = new_barrier()
    model = pause_on_load(barrier, times(5))
    repository.write_model("times", model, answer=35, loads=False)
    repository.commit("five times, after the barrier")
    with repository.start_delivery() as delivery:
        barrier.wait_until_reached()
        rollback = run_as("publisher", model_command, "rollback", *STAGE_AND_ENDPOINT, "times")
        clone = replace(repository, path=tmp_path / "clone")
        repository.git("clone", "--quiet", str(repository.path), str(clone.path))
        (clone.path / "notes.txt").write_text("another commit")
        clone.commit("another commit at the same time")
        newer_output = clone.deliver(code=NotDelivered.exit_code)
        clone.git("checkout", "--quiet", "HEAD~2")
        older_output = clone.deliver(code=NotDelivered.exit_code)
        barrier.open()
        output = delivery.communicate()[0]
    assert rollback.returncode == 1
    assert "to live is in progress since" in rollback.stderr
    assert "to live is in progress since" in newer_output
    assert "If it was killed: TAKE_OVER=1" in newer_output
    assert "to live is in progress since" in older_output
    assert delivery.returncode == 0, output
    assert predict(_client()) == 35


def test_history_has_deliveries_and_rollbacks(repository: Repository) -> None:
    repository.run("rollback-stage", "live")
    events = _json_output(repository, "history", "live")
    assert [(event["action"], event["result"]) for event in events[:2]] == [
        ("rollback-stage", "delivered"),
        ("deliver", "delivered"),
    ]
    assert {(event["action"], event["result"]) for event in events} >= {("rollback", "done")}
    assert {event["who"] for event in events} == {"arn:aws:iam::000000000000:root"}
    served_commit = repository.git("rev-parse", "HEAD~1")
    assert events[0]["commit"] == served_commit
    assert events[0]["versions"] == {"math/times": _version(), "math/plus": _version("plus")}


def test_commands_restore_a_deleted_endpoint(repository: Repository, tmp_path: Path) -> None:
    boto3.client("sagemaker").delete_endpoint(EndpointName="live-math")
    boto3.client("sagemaker").get_waiter("endpoint_deleted").wait(
        EndpointName="live-math", WaiterConfig={"Delay": 1, "MaxAttempts": 600}
    )
    (endpoint,) = _differences(repository, "live-math")
    assert endpoint["text"].startswith("does not exist: it was deleted")
    output = repository.deliver(code=EndpointLost.exit_code)
    assert "make rollback" not in output
    commands = re.findall(r"^ +((?:aws|tritonsm) .+)$", output.partition("deployed, but")[2], re.M)
    runbook = re.sub(" +#.+", "", script("An endpoint is gone"))
    for variable, value in {"$NAME": "live-math", "$STAGE": "live"}.items():
        runbook = runbook.replace(variable, value)
    assert commands[:4] == runbook.splitlines()
    assert commands[0] == "tritonsm status live"  # changes nothing
    shutil.rmtree(repository.path / RELEASE)
    run_script(repository, tmp_path, "\n".join(commands[1:3]))
    (stack,) = _differences(repository, "live-math")
    assert stack["text"] == "the stack does not exist: it was deleted"
    run_script(repository, tmp_path, stack["command"])
    assert predict(_client(), "plus") == 8
    assert _json_output(repository, "status", "live")["differences"] == []


def _differences(repository: Repository, subject: str) -> list[dict[str, str]]:
    differences = _json_output(repository, "status", "live")["differences"]
    return [difference for difference in differences if difference["subject"] == subject]


def _json_output(repository: Repository, *arguments: str) -> Any:
    """Return the JSON output of a read-only command."""
    with chdir(repository.path):
        process = run_as("status", tritonsm, *arguments, "--json")
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)
