"""Deliveries to a stage that somebody has changed by hand, while clients ask."""

import argparse
import json
import re
import shlex
import threading
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import pytest

from cli import history, status
from endpoint_client import EndpointClient, EndpointError
from local_sagemaker.tests.support.tiny_models import PLUS_ONE, TIMES, Gate
from model_build.__main__ import main as tritonsm
from tests.local.commands import run_as
from tests.local.conftest import Checkout
from tests.local.repository import Repository
from tests.local.runbook import script
from tests.local.shell import paste

STAGE = """
account: "000000000000"
region: us-east-1
release: "24.09"
endpoints:
  math:
    models: [times, plus]
    instance_type: ml.m5.xlarge
"""
PLACE = ("live", "math")
TIMES_ENTRY, GHOST = "/triton/live/math/times", "/triton/live/math/ghost"


@pytest.fixture(scope="module")
def repository(checkout: Checkout) -> Repository:
    """A stage to which a first version of `times` was delivered."""
    repository = Repository.of(checkout, live=STAGE)
    repository.write_model("times", TIMES.replace("FACTOR", "2"), answer=14)
    repository.write_model("plus", PLUS_ONE, answer=8)
    repository.commit("twice")
    repository.deliver()
    return repository


def _version(model: str = "times") -> str:
    client = EndpointClient(stage="live", endpoint="math", catalog_ttl=0)
    return client.resolve(model).version


def _answer(model: str = "times") -> float:
    client = EndpointClient(stage="live", endpoint="math", catalog_ttl=0)
    return float(client.invoke(model, {"X": np.array([[7]], np.float32)})["Y"][0, 0])


def _run(command: str) -> None:
    """Run a command that a message gives."""
    program, *arguments = shlex.split(command)
    assert program == "tritonsm"
    finished = run_as("publisher", tritonsm, *arguments)
    assert finished.returncode == 0, finished.stderr


def _command(message: str, program: str) -> str:
    (command,) = re.findall(rf"^ +({program} .+)$", message, re.M)
    return str(command)


class Calls:
    """Calls of a client, by model: how many were answered and how many were lost."""

    def __init__(self) -> None:
        self.answered = {"times": 0, "plus": 0}
        self.lost = {"times": 0, "plus": 0}


@contextmanager
def _client() -> Iterator[Calls]:
    """Invoke both models by their names in a loop; lost calls are counted."""
    calls, stop = Calls(), threading.Event()
    client = EndpointClient(stage="live", endpoint="math", catalog_ttl=0)

    def loop() -> None:
        while not stop.wait(0.5):
            for model in calls.lost:
                try:
                    client.invoke(model, {"X": np.array([[7]], np.float32)})
                    calls.answered[model] += 1
                except EndpointError:
                    calls.lost[model] += 1

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield calls
    finally:
        stop.set()
        thread.join()
    print(f"answered {calls.answered}, lost {calls.lost}")  # noqa: T201


def test_a_deleted_entry_is_written_again_by_the_next_delivery(repository: Repository) -> None:
    """CloudFormation changes nothing, and clients got UnknownModel until somebody published."""
    before = _version()
    with _client() as calls:
        _ssm().delete_parameter(Name=TIMES_ENTRY)
        shown = _read(repository, "status", "live")
        message = repository.deliver()
        assert _answer() == 14
    assert shown["differences"] == [
        {
            "subject": "math/times",
            "text": "the catalog has no entry",
            "command": "make deliver STAGE=live",
        }
    ]
    assert _read(repository, "status", "live")["differences"] == []
    assert "! math/times: the catalog has no entry: written again" in message
    assert _version() == before
    assert calls.lost["plus"] == 0


def test_an_entry_that_somebody_broke_is_written_again(repository: Repository) -> None:
    """`status` ended in an error, as the deliveries did that would have repaired it."""
    before = _version()
    _ssm().put_parameter(Name=TIMES_ENTRY, Value="9999", Type="String", Overwrite=True)
    (entry,) = _differences(repository, "math/times")
    assert entry["text"].startswith("the catalog's entry is broken, since 20")
    assert "! math/times: the catalog's entry is broken" in repository.deliver()
    assert (_version(), _answer()) == (before, 14)


def test_a_deleted_entry_does_not_keep_a_new_version_from_being_delivered(
    repository: Repository,
) -> None:
    """CloudFormation would update a parameter that is not there."""
    repository.write_model("times", TIMES.replace("FACTOR", "4"), answer=28)
    repository.commit("four times")
    _ssm().delete_parameter(Name=TIMES_ENTRY)
    repository.deliver()
    assert _answer() == 28


def test_a_model_that_was_rolled_back_is_recognised_before_anything_changes(
    repository: Repository,
) -> None:
    """Its stage was said to be wrong, and to need a rollback that went one commit too far."""
    new = _version()
    with _client() as calls:
        _run("tritonsm rollback live math times")
        old = _version()
        message = repository.deliver(code=4)
        ending = message[message.index("changed by hand:") :]
        assert f"the catalog has version {old} instead of {new}, since 20" in ending
        assert "UTC, by arn:aws:iam::000000000000:root" in ending
        assert "make rollback" not in message
        assert "cdk deploy" not in message
        assert _version() == old  # which somebody chose
        _run(_command(ending, "tritonsm"))
        repository.deliver()
    assert _answer() == 28
    assert calls.lost == {"times": 0, "plus": 0}


def test_a_commit_with_the_version_that_was_rolled_back_to_is_delivered(
    repository: Repository,
) -> None:
    """Also as a rollback of the stage: catalog and commit are the same again."""
    _run("tritonsm rollback live math times")
    before = _version()
    with _client() as calls:
        message = repository.deliver("rollback-stage")
    assert "changed by hand" not in message
    assert _version() == before
    assert calls.lost == {"times": 0, "plus": 0}
    repository.deliver()


def test_an_entry_that_the_commit_does_not_have_is_said_with_the_command(
    repository: Repository,
) -> None:
    value = _ssm().get_parameter(Name=TIMES_ENTRY)["Parameter"]["Value"]
    _ssm().put_parameter(Name=GHOST, Value=value.replace("times", "ghost"), Type="String")
    with _client() as calls:
        message = repository.deliver()
    assert "! math/ghost: the catalog has version" in message
    assert f"does not have this model: aws ssm delete-parameter --name {GHOST}" in message
    _ssm().delete_parameter(Name=GHOST)
    assert calls.lost == {"times": 0, "plus": 0}


def test_nothing_is_changed_or_delivered_during_a_delivery(
    repository: Repository, new_gate: Callable[[], Gate], tmp_path: Path
) -> None:
    """A rollback of a model made somebody's delivery wrong; a second delivery undid it."""
    gate = new_gate()
    model = gate.pause + TIMES.replace("FACTOR", "5").replace(
        "class TritonPythonModel:\n",
        "class TritonPythonModel:\n    def initialize(self, args):\n        pause()\n\n",
    )
    repository.write_model("times", model, answer=35)
    repository.commit("five times, when it may")
    with repository.delivering("deliver", "live") as delivery:
        gate.wait_until_reached()
        refused = run_as("publisher", tritonsm, "rollback", *PLACE, "times")
        elsewhere = replace(repository, path=tmp_path / "elsewhere")
        repository.git("clone", "--quiet", str(repository.path), str(elsewhere.path))
        (elsewhere.path / "notes.txt").write_text("another laptop")
        elsewhere.commit("at the same time")
        second = elsewhere.deliver(code=1)
        elsewhere.git("checkout", "--quiet", "HEAD~2")
        older = elsewhere.deliver(code=1)
        gate.open()
        message = delivery.communicate()[0]
    assert refused.returncode == 1
    assert "to live is in progress since" in refused.stderr
    assert "to live is in progress since" in second
    assert "If it was killed: TAKE_OVER=1" in second
    assert "this delivery would revert it" in older
    assert delivery.returncode == 0, message
    assert _answer() == 35


def test_the_record_has_everything_that_was_done(repository: Repository) -> None:
    repository.deliver("rollback-stage")
    refused = run_as("publisher", tritonsm, "retire", *PLACE, "times", _version())
    assert refused.returncode == 1
    events = _read(repository, "history", "live")
    assert [(event["action"], event["result"]) for event in events[:2]] == [
        ("rollback-stage", "delivered"),
        ("deliver", "delivered"),
    ]
    assert {(event["action"], event["result"]) for event in events} >= {("rollback", "done")}
    assert {event["who"] for event in events} == {"arn:aws:iam::000000000000:root"}
    live = repository.git("rev-parse", "HEAD~1")
    assert events[0]["commit"] == live
    assert events[0]["versions"] == {"math/times": _version(), "math/plus": _version("plus")}


def test_an_endpoint_that_was_deleted_by_hand_is_created_again_by_the_commands(
    repository: Repository, tmp_path: Path
) -> None:
    """Delivering again changed nothing, a rollback of the stage was advised, and refused."""
    boto3.client("sagemaker").delete_endpoint(EndpointName="live-math")
    boto3.client("sagemaker").get_waiter("endpoint_deleted").wait(EndpointName="live-math")
    (endpoint,) = _differences(repository, "live-math")
    assert endpoint["text"].startswith("does not exist: somebody deleted it")
    output = repository.deliver(code=2)
    assert "make rollback" not in output
    *commands, deliver = script("An endpoint is gone ✔ local").splitlines()
    in_message = re.findall(r"aws cloudformation .+? --stack-name live-math", output)
    assert in_message == [command.replace("$NAME", "live-math") for command in commands]
    pasted = paste(repository, tmp_path, "\n".join(in_message))
    assert pasted.returncode == 0, pasted.stdout
    (stack,) = _differences(repository, "live-math")
    assert stack["text"] == "the stack does not exist: somebody deleted it"
    pasted = paste(repository, tmp_path, deliver, {"STAGE": "live"})
    assert pasted.returncode == 0, pasted.stdout
    assert _answer("plus") == 8
    assert _read(repository, "status", "live")["differences"] == []


def test_a_model_that_was_never_invoked_is_named_beside_the_result(repository: Repository) -> None:
    (repository.path / "models" / "plus" / "tests" / "golden.json").unlink()
    repository.commit("nobody knows what plus answers")
    *_, warning, result = repository.deliver().splitlines()
    assert "golden.json has no inputs: live-math/plus" in warning
    assert result == "delivered: live serves the checked-out commit"


def _differences(repository: Repository, subject: str) -> list[dict[str, str]]:
    differences = _read(repository, "status", "live")["differences"]
    return [each for each in differences if each["subject"] == subject]


def _read(repository: Repository, *arguments: str) -> Any:
    """Return what a command that changes nothing writes as JSON."""

    def run(written: list[str]) -> int:
        parser = argparse.ArgumentParser()
        commands = parser.add_subparsers()
        for module in (history, status):
            module.add_to(commands)
        options = parser.parse_args([*written, "--json"])
        options.local = False
        code: int = options.run(options)
        return code

    with chdir(repository.path):
        finished = run_as("status", run, *arguments)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def _ssm() -> Any:
    return boto3.client("ssm")
