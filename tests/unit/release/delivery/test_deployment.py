"""How a deploy ends."""

import pytest

from release.delivery.deploying import deploy
from release.delivery.deployment import StageDeployment
from release.delivery.errors import NotDelivered, RollbackFailed, Unfinished
from tests.unit.release.delivery.fakes import EXPIRED, FakeAws, FakeCdk


def test_what_an_earlier_delivery_has_begun_is_waited_for_before_a_deploy(
    aws: FakeAws, cli: FakeCdk, delivered: StageDeployment, capsys: pytest.CaptureFixture[str]
) -> None:
    aws.statuses = ["UPDATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"]
    deploy(delivered)
    assert aws.statuses == []
    assert cli.runs == [("deploy", "prod-models", "prod-text", "prod-vision")]
    assert "waiting for prod-models: UPDATE_IN_PROGRESS" in capsys.readouterr().out


def test_a_stack_that_could_not_be_rolled_back_ends_with_the_commands(
    cli: FakeCdk, delivered: StageDeployment
) -> None:
    at_rest = ["UPDATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_FAILED"]
    cli.fails, cli.leaves = "deploy", [*at_rest, *at_rest]
    with pytest.raises(RollbackFailed) as failed:
        deploy(delivered)
    first, second, *_ = str(failed.value).splitlines()
    assert first == "the CLI: no"
    assert second.startswith("  prod-vision is UPDATE_ROLLBACK_FAILED")


def test_nothing_is_deployed_while_a_rollback_waits_to_be_continued(
    aws: FakeAws, cli: FakeCdk, delivered: StageDeployment
) -> None:
    in_progress = ["UPDATE_COMPLETE"] * 3
    aws.statuses = [*in_progress, "UPDATE_COMPLETE", "UPDATE_ROLLBACK_FAILED", "UPDATE_COMPLETE"]
    with pytest.raises(NotDelivered, match="Nothing was changed\n  prod-text is UPDATE_ROLLBACK"):
        deploy(delivered)
    assert cli.runs == []


@pytest.mark.parametrize(
    ("leaves", "then", "error", "message"),
    [
        ([], None, NotDelivered, "the CLI: no"),
        (
            ["UPDATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_IN_PROGRESS"],
            None,
            Unfinished,
            r"still updating prod-vision \(UPDATE_IN_PROGRESS\)",
        ),
        ([], EXPIRED, Unfinished, "may still be updating: the credentials have expired"),
    ],
    ids=["rolled back", "goes on without the CLI", "outlives its credentials"],
)
def test_a_deploy_that_fails_says_what_became_of_it(
    cli: FakeCdk,
    delivered: StageDeployment,
    leaves: list[str],
    then: BaseException | None,
    error: type[Exception],
    message: str,
) -> None:
    cli.fails, cli.leaves, cli.then = "deploy", leaves, then
    with pytest.raises(error, match=message):
        deploy(delivered)


def test_credentials_that_expire_while_it_waits_leave_it_unfinished(
    aws: FakeAws, cli: FakeCdk, delivered: StageDeployment
) -> None:
    aws.refuses = EXPIRED
    with pytest.raises(Unfinished, match="the credentials have expired"):
        deploy(delivered)
    assert cli.runs == []


def test_an_interrupted_deploy_is_unfinished_and_says_of_which_stacks(
    cli: FakeCdk, delivered: StageDeployment
) -> None:
    cli.then = KeyboardInterrupt()
    with pytest.raises(Unfinished, match=r"interrupted, and .* updating prod-models, prod-text,"):
        deploy(delivered)
