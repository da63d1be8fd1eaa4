"""Tests of the two deploys of a stack whose scaled variant gets another instance type."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from delivery import cdk
from delivery import deploy as deployment
from delivery.assembly import Assembly
from delivery.cdk import CdkResult
from delivery.deploy import StageDeployment, deploy
from delivery.errors import FaultyDeployment, Unfinished
from release.templates import Template
from tests.unit.delivery.test_suspended_scaling import settings, template
from tests.unit.plan.plans import make_endpoint, make_plan

OLD, NEW = template(A="g5", scaled=("A",)), template(A="g6", scaled=("A",))
WARNING = (
    "prod-text: variant A may run without scaling, with its current number of instances, until the "
    "stage is delivered again"
)


class FakeStack:
    """A deployed stack; the deploys with the numbers in `failing_deploys` are rolled back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.live: Template | None = OLD
        self.deploys: list[Template] = []
        self.failing_deploys: set[int] = set()

    def deploy(self, folder: Path, *_: str, **__: bool) -> CdkResult:
        new = json.loads((folder / "prod-text.template.json").read_text())
        self.deploys.append(new)
        if len(self.deploys) in self.failing_deploys:
            return CdkResult(succeeded=False, error_lines=("prod-text: no GPU",))
        self.live = new
        return CdkResult(succeeded=True, error_lines=())

    @contextmanager
    def with_template(self, _: Assembly, stack: str, new: Template) -> Iterator[Path]:
        folder = self._folder / "copy"
        folder.mkdir(exist_ok=True)
        (folder / f"{stack}.template.json").write_text(json.dumps(new))
        yield folder


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeStack:
    deployed = FakeStack(tmp_path)
    monkeypatch.setattr(Assembly, "with_template", lambda *args: deployed.with_template(*args))
    monkeypatch.setattr(cdk, "deploy", deployed.deploy)
    monkeypatch.setattr(cdk, "parallel_stacks", lambda *_: 1)
    for name in ("wait_for_stacks", "wait_for_endpoints"):
        monkeypatch.setattr(deployment, name, lambda *_: None)
    monkeypatch.setattr(deployment, "operations_in_progress", lambda *_: [])
    monkeypatch.setattr(deployment, "stacks_with_failed_rollback", lambda *_: [])
    monkeypatch.setattr(deployment, "describe_stuck_rollback", lambda *_: "continue the rollback")
    monkeypatch.setattr(StageDeployment, "live_template", lambda *_: deployed.live)
    monkeypatch.setattr(deployment, "stack_template", lambda *_: deployed.live)
    return deployed


class FakeSession:
    def client(self, _: str) -> Any:
        limit = {"AccountLimit": {"ConcurrentExecutions": 1000}}
        return SimpleNamespace(get_account_settings=lambda: limit)


@pytest.fixture
def stage_deployment(stack: FakeStack, tmp_path: Path) -> StageDeployment:
    folder = tmp_path / "assembly"
    folder.mkdir()
    (folder / "prod-text.template.json").write_text(json.dumps(NEW))
    endpoint = make_endpoint(
        variants=settings(A="g6", scaled=("A",)).variants, hosting="single-model"
    )
    make_plan(endpoints={"text": endpoint}).write(folder)
    return StageDeployment(Assembly(folder, "prod"), cast(boto3.Session, FakeSession()))


def test_failed_restoring_of_scaling_is_a_faulty_deployment(
    stack: FakeStack, stage_deployment: StageDeployment
) -> None:
    stack.failing_deploys = {2, 3}
    with pytest.raises(FaultyDeployment) as failed:
        deploy(stage_deployment)
    assert str(failed.value).splitlines()[-1].strip() == WARNING


@pytest.mark.parametrize(
    ("module", "function", "failing_deploys", "error"),
    [
        (StageDeployment, "live_template", set(), KeyboardInterrupt()),
        (*(cdk, "deploy", set()),
         ClientError({"Error": {"Code": "ExpiredTokenException"}}, "DescribeEndpoint")),
        (deployment, "stack_template", {2}, NoCredentialsError()),
    ],
    ids=["interrupted between deploys", "expired in second deploy", "no credentials to restore"],
)  # fmt: skip
def test_error_after_the_first_deploy_is_unfinished(
    stack: FakeStack,
    stage_deployment: StageDeployment,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    function: str,
    failing_deploys: set[int],
    error: BaseException,
) -> None:
    original = getattr(module, function)

    def fail_after_first_deploy(*arguments: Any, **options: Any) -> Any:
        if stack.deploys:
            raise error
        return original(*arguments, **options)

    endpoint = stage_deployment.assembly.endpoints["text"]
    endpoints = {"text": endpoint} if failing_deploys else {"text": endpoint, "twice": endpoint}
    monkeypatch.setitem(vars(stage_deployment.assembly), "endpoints", endpoints)
    monkeypatch.setattr(module, function, fail_after_first_deploy)
    stack.failing_deploys = failing_deploys
    with pytest.raises(Unfinished) as failed:
        deploy(stage_deployment)
    assert WARNING in str(failed.value)
