from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from release.checkouts import Clone
from release.delivery import __main__ as program
from release.delivery.__main__ import main
from release.delivery.errors import (
    ChangedByHand,
    DeliveredWrong,
    NotDelivered,
    RollbackFailed,
    Unfinished,
)


@pytest.fixture(autouse=True)
def _clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Clone, "here", classmethod(lambda cls: cls(tmp_path)))


def ends(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    """Return how a delivery to prod ends that fails with `error`."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(program, "deliver", fail)
    return main(["deliver", "prod"])


def test_what_serves_as_it_must_ends_with_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "deliver", lambda *_, **__: None)
    assert main(["deliver", "prod", "--from-stage", "dev"]) == 0
    assert capsys.readouterr().out == "delivered: prod serves what is checked out\n"


def test_what_changed_nothing_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends(monkeypatch, NotDelivered("the build failed")) == 1
    assert capsys.readouterr().err == "not delivered: the build failed\n"


def test_what_is_deployed_and_wrong_ends_with_2_and_the_way_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends(monkeypatch, DeliveredWrong("Y is missing")) == 2
    assert capsys.readouterr().err == (
        "deployed, and wrong: Y is missing\n  Roll back: make rollback STAGE=prod\n"
    )


def test_what_cloudformation_could_not_roll_back_ends_with_2_and_not_with_a_rollback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends(monkeypatch, RollbackFailed("continue")) == 2
    assert capsys.readouterr().err == "deployed, and wrong: continue\n"


def test_a_catalog_that_was_changed_by_hand_ends_with_4_and_not_with_a_rollback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends(monkeypatch, ChangedByHand("tritonsm rollback minilm --to b")) == 4
    assert capsys.readouterr().err == "changed by hand: tritonsm rollback minilm --to b\n"


def test_aws_that_refuses_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends(monkeypatch, NoCredentialsError()) == 1
    assert "not delivered: AWS: Unable to locate credentials" in capsys.readouterr().err


def test_an_interruption_before_anything_was_begun_ends_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends(monkeypatch, KeyboardInterrupt()) == 130
    told = capsys.readouterr().err
    assert told == "not delivered: interrupted, before anything was begun\n"


def test_what_goes_on_at_aws_ends_with_3_and_how_to_take_it_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends(monkeypatch, Unfinished("prod-text goes on")) == 3
    told = capsys.readouterr().err
    assert told.startswith("unfinished: prod-text goes on\n")
    assert "Builds may still run: wait until CodeBuild has none in progress" in told
    assert "then run the same command again. It waits for stacks and endpoints" in told


def test_credentials_that_had_expired_before_are_said_to_have(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused: Any = {"Error": {"Code": "ExpiredTokenException", "Message": "expired"}}
    assert ends(monkeypatch, ClientError(refused, "GetParameter")) == 1
    assert "not delivered: the credentials have expired: get new ones" in capsys.readouterr().err


def test_wrong_arguments_do_not_end_as_a_wrong_deployment_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["deliver"]) == 1
    assert "STAGE" in capsys.readouterr().err
    assert main(["--help"]) == 0


def test_a_rollback_says_what_brings_the_change_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "roll_back", lambda *_, **__: ("a" * 40, ["prod-text/a"]))
    assert main(["rollback-stage", "prod"]) == 0
    warning, result = capsys.readouterr().out.splitlines()
    assert warning.startswith(
        "! not invoked, so that nobody knows whether they answer: prod-text/a"
    )
    assert result.startswith("delivered: prod serves aaaaaaaaaaaa again. ")
    assert "revert it" in result


def test_a_golden_answer_needs_inputs_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["golden", "dev", "minilm"]) == 1
    assert "golden.json is not there: write its inputs first" in capsys.readouterr().err
