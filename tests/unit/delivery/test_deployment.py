"""Tests of a deploy and its errors."""

import re
import time
from itertools import count

import pytest

from delivery.deploy import StageDeployment, deploy
from delivery.errors import NotDelivered, RollbackFailed, Unfinished
from tests.unit.delivery.fakes import EXPIRED, FakeAws, FakeCdk


def test_no_deploy_after_a_failed_rollback(
    aws: FakeAws, cli: FakeCdk, stage_deployment: StageDeployment
) -> None:
    aws.statuses = [*["UPDATE_COMPLETE"] * 7, "UPDATE_ROLLBACK_FAILED", "UPDATE_COMPLETE"]
    with pytest.raises(NotDelivered, match="Nothing was changed\n  prod-text is UPDATE_ROLLBACK"):
        deploy(stage_deployment)
    assert cli.runs == []


@pytest.mark.parametrize("is_stack", [True, False], ids=["stack", "endpoint that scales"])
def test_wait_for_an_operation_ends_with_the_limit_of_a_deploy(
    aws: FakeAws,
    cli: FakeCdk,
    moving_deployment: StageDeployment,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_stack: bool,
) -> None:
    """Scaling without capacity is repeated while the load lasts."""
    budget = moving_deployment.assembly.plan.time_budget
    monkeypatch.setattr(time, "monotonic", count(0, 60).__next__)
    aws.statuses = ["UPDATE_IN_PROGRESS"] * 3 * budget.deploy_minutes * is_stack
    aws.endpoint_statuses = ["Updating"] * 3 * budget.deploy_minutes
    limit = f"^Nothing was changed: {budget.deploy_minutes} minutes"
    with pytest.raises(NotDelivered, match=limit) as error:
        deploy(moving_deployment)
    name = "prod-models is still UPDATE_IN_PROGRESS" if is_stack else "prod-text is still Updating"
    assert name in str(error.value)
    output = capsys.readouterr().out
    assert re.match(r"  waiting for prod-text: Updating; at most \d+ more minutes\n", output)
    assert cli.runs == []


def test_killed_deploy_may_have_changed_the_stacks(
    cli: FakeCdk, stage_deployment: StageDeployment
) -> None:
    cli.failing_command, cli.error_lines = "deploy", ()
    with pytest.raises(Unfinished, match="CloudFormation may have changed prod-models, "):
        deploy(stage_deployment)


@pytest.mark.parametrize(
    ("statuses", "error_after", "error", "message"),
    [
        ([], None, NotDelivered, "the CLI: no"),
        (["UPDATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_IN_PROGRESS"], None, Unfinished,
         r"still updating prod-vision \(UPDATE_IN_PROGRESS\)"),
        (2 * ["UPDATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_FAILED"], None, RollbackFailed,
         "the CLI: no\n  prod-vision is UPDATE_ROLLBACK_FAILED"),
        ([], EXPIRED, Unfinished, "may still be updating: the credentials have expired"),
    ],
    ids=["rolled back", "still updating", "rollback failed", "expired credentials"],
)  # fmt: skip
def test_failed_deploy_reports_the_state_of_the_stacks(
    cli: FakeCdk,
    stage_deployment: StageDeployment,
    statuses: list[str],
    error_after: BaseException | None,
    error: type[Exception],
    message: str,
) -> None:
    cli.failing_command, cli.statuses_after, cli.error_after = "deploy", statuses, error_after
    with pytest.raises(error, match=message):
        deploy(stage_deployment)


def test_interrupted_deploy_reports_its_stacks(
    cli: FakeCdk, stage_deployment: StageDeployment
) -> None:
    cli.error_after = KeyboardInterrupt()
    with pytest.raises(Unfinished, match=r"interrupted, and .* updating prod-models, prod-text,"):
        deploy(stage_deployment)


@pytest.mark.parametrize(("quota", "stacks"), [(1, 1), (5, 2), (1000, 3)])
def test_stacks_in_parallel_are_within_the_lambda_quota(
    aws: FakeAws, cli: FakeCdk, stage_deployment: StageDeployment, quota: int, stacks: int
) -> None:
    aws.lambda_quota = quota
    deploy(stage_deployment)
    assert cli.concurrency == stacks
