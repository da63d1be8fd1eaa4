"""A scaled variant that changes is deployed without its scaling first, and scales in the end."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from cdk_cli import CdkResult
from release.delivery import cdk, deploying, deployment
from release.delivery.assembly import Assembly
from release.delivery.deploying import deploy
from release.delivery.deployment import StageDeployment
from release.delivery.errors import DeliveredWrong, NotDelivered, RollbackFailed, Unfinished
from release.stack_endpoints import StackEndpoint
from release.tree import Template
from tests.unit.release.delivery.test_scaled_variants import template

OLD, NEW = template(A="g5", scaled=("A",)), template(A="g6", scaled=("A",))
WITHOUT = template(A="g5")
TWICE = "prod-text: variant A: the stack is deployed twice, first without scaling"
LEFT = (
    "prod-text: variant A may run without scaling, with the instances that it has, until the "
    "stage is delivered again"
)


class Stack:
    """What is deployed, and what was tried. `fails` are the tries that are rolled back."""

    def __init__(self) -> None:
        self.live: Template | None = OLD
        self.tried: list[Template] = []
        self.fails: set[int] = set()
        self.going_on: list[str] = []
        self.stuck: list[str] = []

    def deploy(self, folder: Path, *_: str, **__: bool) -> CdkResult:
        new = json.loads((folder / "prod-text.template.json").read_text())
        self.tried.append(new)
        if len(self.tried) in self.fails:
            return CdkResult(succeeded=False, error_lines=("prod-text: no GPU",))
        self.live = new
        return CdkResult(succeeded=True, error_lines=())

    @contextmanager
    def with_template(self, _: Assembly, stack: str, new: Template) -> Iterator[Path]:
        folder = Path(self.scratch, "other")
        folder.mkdir(exist_ok=True)
        (folder / f"{stack}.template.json").write_text(json.dumps(new))
        yield folder

    scratch: Path


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    deployed = Stack()
    deployed.scratch = tmp_path
    endpoint = StackEndpoint("prod-text", "text", "prod-text", "Config")
    monkeypatch.setattr(Assembly, "endpoints", [endpoint])
    monkeypatch.setattr(Assembly, "with_template", lambda *args: deployed.with_template(*args))
    monkeypatch.setattr(cdk, "deploy", deployed.deploy)
    for name in ("wait_for_stacks", "wait_for_endpoints"):
        monkeypatch.setattr(deployment, name, lambda *_: None)
    monkeypatch.setattr(deployment, "in_progress", lambda *_: deployed.going_on)
    monkeypatch.setattr(
        deployment, "rollback_failed", lambda *_: deployed.stuck if len(deployed.tried) > 1 else []
    )
    monkeypatch.setattr(deployment, "stuck_rollback", lambda *_: "continue the rollback")
    monkeypatch.setattr(StageDeployment, "live", lambda *_: deployed.live)
    monkeypatch.setattr(deploying, "stack_template", lambda *_: deployed.live)
    return deployed


class NoAws:
    def client(self, _: str) -> None:
        return None


@pytest.fixture
def delivered(stack: Stack, tmp_path: Path) -> StageDeployment:
    folder = tmp_path / "assembly"
    folder.mkdir()
    (folder / "prod-text.template.json").write_text(json.dumps(NEW))
    return StageDeployment(Assembly(folder, "prod"), cast(boto3.Session, NoAws()))


def test_the_live_template_without_scaling_comes_first(
    stack: Stack, delivered: StageDeployment, capsys: pytest.CaptureFixture[str]
) -> None:
    deploy(delivered)
    assert stack.tried == [WITHOUT, NEW]
    assert TWICE in capsys.readouterr().out


@pytest.mark.parametrize(
    "live",
    [None, NEW, template(A="g5"), template(A="g6", B="g5", scaled=("A",))],
    ids=["none", "the same", "not scaled: it was interrupted", "another variant goes"],
)
def test_whatever_else_changes_is_deployed_once(
    stack: Stack, delivered: StageDeployment, live: Template | None
) -> None:
    stack.live = live
    deploy(delivered)
    assert stack.tried == [NEW]


def test_where_the_second_is_rolled_back_scaling_is_brought_back(
    stack: Stack, delivered: StageDeployment
) -> None:
    stack.fails = {2}
    with pytest.raises(NotDelivered) as failed:
        deploy(delivered)
    assert stack.tried == [WITHOUT, NEW, OLD]
    message = str(failed.value).splitlines()
    assert message[0] == "prod-text: no GPU"
    assert message[-1] == "  prod-text: variant A scales again, as before"


def test_where_the_first_is_rolled_back_nothing_was_changed(
    stack: Stack, delivered: StageDeployment
) -> None:
    stack.fails = {1}
    with pytest.raises(NotDelivered) as failed:
        deploy(delivered)
    assert stack.tried == [WITHOUT]
    assert "again" not in str(failed.value)


def test_a_stack_that_has_its_new_template_scales_by_that(
    stack: Stack, delivered: StageDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another_stack_fails(*where: Any, **_: bool) -> CdkResult:
        deployed = stack.deploy(*where)
        return CdkResult(deployed.succeeded and len(stack.tried) != 2, ())

    monkeypatch.setattr(cdk, "deploy", another_stack_fails)
    with pytest.raises(NotDelivered):
        deploy(delivered)
    assert stack.tried == [WITHOUT, NEW]


def test_where_scaling_cannot_be_brought_back_it_is_wrong_and_said(
    stack: Stack, delivered: StageDeployment
) -> None:
    stack.fails = {2, 3}
    with pytest.raises(DeliveredWrong) as failed:
        deploy(delivered)
    assert [line.strip() for line in str(failed.value).splitlines() if "scaling" in line] == [LEFT]


def test_where_nobody_can_look_whether_it_is_scaled_it_is_said(
    stack: Stack, delivered: StageDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expired(*_: Any) -> Template:
        raise NoCredentialsError

    stack.fails = {2}
    monkeypatch.setattr(deploying, "stack_template", expired)
    with pytest.raises(Unfinished, match="may run without scaling"):
        deploy(delivered)


@pytest.mark.parametrize(
    "error",
    [
        ClientError({"Error": {"Code": "ExpiredTokenException"}}, "DescribeEndpoint"),
        KeyboardInterrupt(),
    ],
    ids=["expired", "interrupted"],
)
@pytest.mark.parametrize(
    ("where", "function", "fails"),
    [(StageDeployment, "live", set()), (deploying, "stack_template", {2})],
    ids=["next", "back"],
)
def test_what_ends_between_the_deploys_is_unfinished_and_says_that_scaling_may_be_off(
    stack: Stack,
    delivered: StageDeployment,
    monkeypatch: pytest.MonkeyPatch,
    where: ModuleType,
    function: str,
    fails: set[int],
    error: BaseException,
) -> None:
    def live(*_: Any) -> Template | None:
        if stack.tried:
            raise error
        return stack.live

    endpoints = [StackEndpoint("prod-text", "text", "prod-text", "Config")] * 2
    monkeypatch.setattr(Assembly, "endpoints", endpoints[: 1 if fails else 2])
    monkeypatch.setattr(where, function, live)
    stack.fails = fails
    with pytest.raises(Unfinished) as failed:
        deploy(delivered)
    assert LEFT in str(failed.value)


def test_a_stack_that_could_not_be_rolled_back_says_the_way_on_and_that_scaling_may_be_off(
    stack: Stack, delivered: StageDeployment
) -> None:
    stack.fails, stack.stuck = {2}, ["prod-text"]
    with pytest.raises(RollbackFailed, match="continue the rollback") as failed:
        deploy(delivered)
    assert str(failed.value).splitlines()[-1].strip() == LEFT
    assert stack.tried == [WITHOUT, NEW]


def test_a_stack_that_could_not_be_brought_back_to_its_scaling_says_the_way_on(
    stack: Stack, delivered: StageDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack.fails = {2, 3}
    monkeypatch.setattr(
        deployment, "rollback_failed", lambda *_: ["prod-text"] if len(stack.tried) == 3 else []
    )
    with pytest.raises(RollbackFailed, match="continue the rollback"):
        deploy(delivered)


def test_what_fails_between_the_deploys_is_not_told_as_if_nothing_was_changed(
    stack: Stack, delivered: StageDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expired(*_: Any, **__: Any) -> CdkResult:
        raise NoCredentialsError

    first = stack.deploy
    monkeypatch.setattr(cdk, "deploy", lambda *a, **b: expired() if stack.tried else first(*a, **b))
    with pytest.raises(Unfinished, match="may run without scaling"):
        deploy(delivered)
    assert stack.tried == [WITHOUT]


def test_where_nobody_knows_how_it_ended_it_is_said_that_scaling_may_be_off(
    stack: Stack, delivered: StageDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: Any) -> list[str]:
        if len(stack.tried) > 1:
            raise NoCredentialsError
        return []

    stack.fails = {2}
    monkeypatch.setattr(deployment, "rollback_failed", unreadable)
    with pytest.raises(Unfinished) as failed:
        deploy(delivered)
    assert str(failed.value).splitlines()[-1].strip() == LEFT
    assert stack.tried == [WITHOUT, NEW]


def test_where_cloudformation_goes_on_it_is_said_that_scaling_may_be_off(
    stack: Stack, delivered: StageDeployment
) -> None:
    stack.fails, stack.going_on = {2}, ["prod-text (UPDATE_IN_PROGRESS)"]
    with pytest.raises(Unfinished, match=r"still updating .*UPDATE_IN_PROGRESS") as failed:
        deploy(delivered)
    assert str(failed.value).splitlines()[-1].strip() == LEFT
    assert stack.tried == [WITHOUT, NEW]
