"""Some transitions of transitions.md, with a real Triton and a caller on a thread."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from local_sagemaker.settings import INSTANCES, SPEED
from local_sagemaker.tests.support.endpoint_caller import ONCE
from local_sagemaker.tests.support.tiny_models import pack
from plan.catalog import listed
from platform_facts.rules.builds import BuildItem
from tests.catalog_items import create_table
from tests.local.conftest import Checkout
from tests.local.invoking import call_repeatedly
from tests.local.stage_resources import models_bucket
from tests.transitions.pairs import BASES, CHANGES, Change, Pair, State
from tests.transitions.report import PAGE
from tests.transitions.templates import ENDPOINT, STAGE, Template, Templates

pytestmark = pytest.mark.drill

NAME = f"{STAGE}-{ENDPOINT}"
GROUPS = {
    "multi-model": (
        ("another release", "rolling", "other server options", "data capture", "production"),
        ("a new version", "a model added", "a model removed", "scaling", "another error rate"),
        ("a variant renamed",),
    ),
    "single-model": (("a model replaced by another",),),
}
"""Base state -> groups of changes that are deployed together and then reverted."""


@dataclass(frozen=True)
class DeployedStack:
    """A stack with an endpoint, and its templates by state."""

    templates: dict[str, Template]

    def deploy(self, state: State) -> str:
        """Create or update the stack; return its status."""
        cloudformation: Any = boto3.client("cloudformation")
        body = json.dumps(self.templates[json.dumps(state)], separators=(",", ":"))
        exists = any(
            stack["StackName"] == NAME and "DELETE" not in stack["StackStatus"]
            for stack in cloudformation.list_stacks()["StackSummaries"]
        )
        deploy = cloudformation.update_stack if exists else cloudformation.create_stack
        deploy(StackName=NAME, TemplateBody=body, Capabilities=["CAPABILITY_IAM"])
        while (status := self._status(cloudformation)).endswith("IN_PROGRESS"):
            time.sleep(0.1)
        return status

    def _status(self, cloudformation: Any) -> str:
        (stack,) = cloudformation.describe_stacks(StackName=NAME)["Stacks"]
        return str(stack["StackStatus"])


def selected_pairs(*bases: str) -> list[Pair]:
    """Return the selected transitions of some base states, or of all."""
    changes = {change.name: change for change in CHANGES}
    return [
        Pair(base, tuple(map(changes.__getitem__, names)))
        for base in bases or GROUPS
        for names in GROUPS[base]
    ]


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    return {SPEED: "3600", INSTANCES: "1"}


@pytest.fixture(scope="module")
def stack(checkout: Checkout, tmp_path_factory: pytest.TempPathFactory) -> DeployedStack:
    """The persistent stacks are deployed, and the archives of all states are in the bucket."""
    folder = tmp_path_factory.mktemp("states")
    states = {
        json.dumps(state): state for pair in selected_pairs() for state in (pair.before, pair.after)
    }
    templates = Templates(folder)
    by_state = dict(zip(states, templates.with_imports(list(states.values())), strict=True))
    stacks = [f"{STAGE}-{name}" for name in ("models", "network", "capture")]
    checkout.cdk("deploy", *stacks, "--require-approval", "never", "--app", str(templates.app))
    create_table(boto3.client("dynamodb"), STAGE)
    result: dict[str, Template] = {}
    for state, template in by_state.items():
        assert not isinstance(template, str), template
        _upload_archives(template, states[state], folder, templates.app)
        _upload_lists(template, templates.app)
        result[state] = template
    return DeployedStack(result)


def _upload_archives(template: Template, state: State, folder: Path, assembly: Path) -> None:
    """Upload the archives of a state, under the keys that its stack would build."""
    s3, bucket = boto3.client("s3"), models_bucket(STAGE)
    for _, key in _lists(template, "Custom::TritonModels"):
        for line in (assembly / f"asset.{Path(key).name}").read_text().splitlines():
            item = BuildItem.parse(line)
            archive = pack(folder / str(state["models"][item.model]) / item.model)
            s3.put_object(Bucket=bucket, Key=item.key, Body=archive)
            manifest = json.dumps({"digest": item.digest, "archive": {}}).encode()
            s3.put_object(
                Bucket=bucket, Key=item.key.removesuffix(".tar.gz") + ".json", Body=manifest
            )


def _upload_lists(template: Template, assembly: Path) -> None:
    """Upload the lists, as `cdk deploy` does."""
    for kind in ("Custom::TritonCatalog", "Custom::TritonModels"):
        for bucket, key in _lists(template, kind):
            content = (assembly / f"asset.{Path(key).name}").read_bytes()
            boto3.client("s3").put_object(Bucket=bucket, Key=key, Body=content)


def _lists(template: Template, kind: str) -> Iterator[tuple[str, str]]:
    """Yield bucket and key of the list of each resource of a type."""
    for resource in template["Resources"].values():
        if resource["Type"] == kind:
            bucket, _, key = resource["Properties"]["List"].partition("/")
            yield bucket, key


class Caller:
    """A client that calls every model in the catalog."""

    def __init__(self) -> None:
        self._dynamodb: Any = boto3.client("dynamodb")
        self._runtime: Any = boto3.client("sagemaker-runtime", config=ONCE)

    def call_models(self) -> None:
        for revision in listed(self._dynamodb, STAGE, ENDPOINT):
            entry = revision.entry
            target = {"TargetModel": entry["target_model"]} if entry["target_model"] else {}
            tensor = {"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [7]}
            response = self._runtime.invoke_endpoint(
                EndpointName=entry["endpoint"],
                ContentType="application/json",
                Body=json.dumps({"inputs": [tensor]}),
                **target,
            )
            assert json.loads(response["Body"].read())["outputs"]


@pytest.mark.parametrize("base", GROUPS)
def test_transitions_have_the_documented_outcome(stack: DeployedStack, base: str) -> None:
    caller = Caller()
    outcomes, expected = {}, {}
    assert stack.deploy(BASES[base]) == "CREATE_COMPLETE"
    with call_repeatedly(caller.call_models):
        for pair in selected_pairs(base):
            outcome = deployed_outcome(stack, pair.after)
            # A refused change cannot be reverted.
            reverse = outcome if outcome == "refused" else deployed_outcome(stack, pair.before)
            outcomes[pair.name] = {outcome, reverse}
            expected[pair.name] = {page_outcome(pair)}
    boto3.client("cloudformation").delete_stack(StackName=NAME)
    boto3.client("cloudformation").get_waiter("stack_delete_complete").wait(
        StackName=NAME, WaiterConfig={"Delay": 1, "MaxAttempts": 600}
    )
    assert outcomes == expected


def deployed_outcome(stack: DeployedStack, state: State) -> str:
    """Deploy a state and return the outcome in the terms of transitions.md."""
    sagemaker: Any = boto3.client("sagemaker")
    before = sagemaker.describe_endpoint(EndpointName=NAME)
    status = stack.deploy(state)
    after = sagemaker.describe_endpoint(EndpointName=NAME)
    assert after["EndpointStatus"] == "InService"
    is_unchanged = before["LastModifiedTime"] == after["LastModifiedTime"]
    outcomes = {"UPDATE_COMPLETE": "kept" if is_unchanged else "done"}
    if is_unchanged:
        outcomes["UPDATE_ROLLBACK_COMPLETE"] = "refused"
    return outcomes[status]


def page_outcome(pair: Pair) -> str:
    """Return the outcome of the changes in transitions.md: kept only if all are kept."""
    cells = {_cell(change, pair.base) for change in pair.changes}
    return "done" if cells == {"done", "kept"} else cells.pop()


def _cell(change: Change, base: str) -> str:
    (row,) = (
        line for line in PAGE.read_text().splitlines() if line.startswith(f"| {change.name} |")
    )
    return row.strip("|").split("|")[1 + list(BASES).index(base)].strip().partition(":")[0]
