"""Some of the transitions of docs/transitions.md, with a real Triton and a caller on a thread."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from local_sagemaker.settings import INSTANCES, SPEED
from local_sagemaker.tests.support.asking import ONCE
from local_sagemaker.tests.support.tiny_models import pack
from tests.local.conftest import Checkout
from tests.local.invoking import call_repeatedly
from tests.transitions.pairs import BASES, CHANGES, Change, Pair, State
from tests.transitions.report import PAGE
from tests.transitions.templates import ENDPOINT, STAGE, Template, Templates

NAME = f"{STAGE}-{ENDPOINT}"
TRIED = {
    "multi-model": (
        ("another release", "rolling", "other server options", "data capture", "production"),
        ("a new version", "a model added", "a model removed", "scaling", "another error rate"),
        ("a variant renamed",),
    ),
    "single-model": (("a model for another",),),
}
"""Changes that are made at once, by the state that they begin with; back they go by canary."""


@dataclass(frozen=True)
class Trial:
    """A stack with an endpoint, and templates for it by state."""

    templates: dict[str, Template]

    def deploy(self, state: State) -> str:
        """Create or update the stack; return its status."""
        cloudformation: Any = boto3.client("cloudformation")
        body = json.dumps(self.templates[json.dumps(state)], separators=(",", ":"))
        known = cloudformation.list_stacks()["StackSummaries"]
        there = any(
            each["StackName"] == NAME and "DELETE" not in each["StackStatus"] for each in known
        )
        act = cloudformation.update_stack if there else cloudformation.create_stack
        act(
            StackName=NAME,
            TemplateBody=body,
            Capabilities=["CAPABILITY_IAM"],
        )
        while (status := self._status(cloudformation)).endswith("IN_PROGRESS"):
            time.sleep(0.1)
        return status

    def _status(self, cloudformation: Any) -> str:
        (stack,) = cloudformation.describe_stacks(StackName=NAME)["Stacks"]
        return str(stack["StackStatus"])


def tried(*bases: str) -> list[Pair]:
    """Return what is tried of some states, or of all."""
    changes = {change.name: change for change in CHANGES}
    return [
        Pair(base, tuple(map(changes.__getitem__, names)))
        for base in bases or TRIED
        for names in TRIED[base]
    ]


@pytest.fixture(scope="module", autouse=True)
def _hardly_any_waits() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SPEED, "3600")
        patch.setenv(INSTANCES, "1")
        yield


@pytest.fixture(scope="module")
def trial(
    _hardly_any_waits: None, checkout: Checkout, tmp_path_factory: pytest.TempPathFactory
) -> Trial:
    """What stays is deployed, and every archive that the states name is there."""
    folder = tmp_path_factory.mktemp("states")
    states = {json.dumps(each): each for pair in tried() for each in (pair.before, pair.after)}
    templates = Templates(folder)
    made = dict(zip(states, templates.alone(list(states.values())), strict=True))
    stays = [f"{STAGE}-{each}" for each in ("models", "network", "capture")]
    deployed = checkout.cdk(
        *("deploy", *stays, "--require-approval", "never"), *("--app", str(templates.app))
    )
    assert deployed.returncode == 0, deployed.stdout
    for state, template in made.items():
        assert not isinstance(template, str)
        _build(template, states[state], folder)
    return Trial({state: each for state, each in made.items() if not isinstance(each, str)})


def _build(template: Template, state: State, folder: Path) -> None:
    """Put the archives of a state where its stack would build them."""
    s3: Any = boto3.client("s3")
    (bucket,) = (
        each["Name"] for each in s3.list_buckets()["Buckets"] if "modelsbucket" in each["Name"]
    )
    for resource in template["Resources"].values():
        if resource["Type"] == "Custom::TritonModel":
            model, key = resource["Properties"]["Model"], resource["Properties"]["Key"]
            archive = pack(folder / str(state["models"][model]) / model)
            s3.put_object(Bucket=bucket, Key=key, Body=archive)
            manifest = {"digest": resource["Properties"]["Digest"], "archive": {}}
            name = key.removesuffix(".tar.gz") + ".json"
            s3.put_object(Bucket=bucket, Key=name, Body=json.dumps(manifest).encode())


class Caller:
    """Looks up what there is, and asks for all of it."""

    def __init__(self) -> None:
        self._ssm: Any = boto3.client("ssm")
        self._runtime: Any = boto3.client("sagemaker-runtime", config=ONCE)

    def ask(self) -> None:
        path = f"/triton/{STAGE}/{ENDPOINT}"
        for parameter in self._ssm.get_parameters_by_path(Path=path)["Parameters"]:
            entry = json.loads(parameter["Value"])
            target = {"TargetModel": each} if (each := entry["target_model"]) else {}
            tensor = {"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [7]}
            answer = self._runtime.invoke_endpoint(
                EndpointName=entry["endpoint"],
                ContentType="application/json",
                Body=json.dumps({"inputs": [tensor]}),
                **target,
            )
            assert json.loads(answer["Body"].read())["outputs"]


@pytest.mark.parametrize("base", TRIED)
def test_no_call_fails_in_what_the_page_says_of_changes(trial: Trial, base: str) -> None:
    caller = Caller()
    result, message = {}, {}
    assert trial.deploy(BASES[base]) == "CREATE_COMPLETE"
    with call_repeatedly(caller.ask):
        for pair in tried(base):
            forth = deployed_outcome(trial, pair.after)
            # What was refused one way is not there to be left the other way.
            back = forth if forth == "refused" else deployed_outcome(trial, pair.before)
            result[pair.name] = {forth, back}
            message[pair.name] = {page_outcome(pair)}
    boto3.client("cloudformation").delete_stack(StackName=NAME)
    boto3.client("cloudformation").get_waiter("stack_delete_complete").wait(StackName=NAME)
    assert result == message


def deployed_outcome(trial: Trial, state: State) -> str:
    """Deploy a state, and return what happened in the page's words."""
    sagemaker: Any = boto3.client("sagemaker")
    before = sagemaker.describe_endpoint(EndpointName=NAME)
    status = trial.deploy(state)
    after = sagemaker.describe_endpoint(EndpointName=NAME)
    assert after["EndpointStatus"] == "InService"
    untouched = before["LastModifiedTime"] == after["LastModifiedTime"]
    ends = {"UPDATE_COMPLETE": "kept" if untouched else "done"}
    if untouched:
        ends["UPDATE_ROLLBACK_COMPLETE"] = "refused"
    return ends[status]


def page_outcome(pair: Pair) -> str:
    """Return what the page says of changes, each by itself: they are kept only if all are."""
    cells = {_cell(change, pair.base) for change in pair.changes}
    return "done" if cells == {"done", "kept"} else cells.pop()


def _cell(change: Change, base: str) -> str:
    (row,) = (
        line for line in PAGE.read_text().splitlines() if line.startswith(f"| {change.name} |")
    )
    return row.strip("|").split("|")[1 + list(BASES).index(base)].strip().partition(":")[0]
