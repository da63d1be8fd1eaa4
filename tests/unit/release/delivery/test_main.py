from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from release.checkouts import Clone
from release.delivery import command
from release.delivery.errors import (
    ChangedByHand,
    DeliveredWrong,
    EndpointGone,
    NotDelivered,
    RollbackFailed,
    Unfinished,
)
from release.tree import CheckoutError
from tests.tritonsm import tritonsm


@pytest.fixture(autouse=True)
def _clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Clone, "here", classmethod(lambda cls: cls(tmp_path)))


def ends(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    """Return how a delivery to prod ends that fails with `error`."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(command, "deliver", fail)
    return tritonsm(["deliver", "prod"])


def test_what_serves_as_it_must_ends_with_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "deliver", lambda *_, **__: None)
    assert tritonsm(["deliver", "prod", "--from-stage", "dev"]) == 0
    assert capsys.readouterr().out == "delivered: prod serves what is checked out\n"


REFUSED: Any = {"Error": {"Code": "ExpiredTokenException", "Message": "expired"}}


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (NotDelivered("the build failed"), 1, "not delivered: the build failed\n"),
        (
            DeliveredWrong("Y is missing"),
            2,
            "deployed, and wrong: Y is missing\n  Roll back: make rollback STAGE=prod\n",
        ),
        (RollbackFailed("continue"), 2, "deployed, and wrong: continue\n"),
        (EndpointGone("create it"), 2, "deployed, and wrong: create it\n"),
        (
            Unfinished("prod-text goes on"),
            3,
            "unfinished: prod-text goes on\n  AWS finishes what was begun. Builds may still run: "
            "wait until CodeBuild has none in progress, then run the same command again. It waits "
            "for stacks and endpoints, and continues\n",
        ),
        (ChangedByHand("tritonsm rollback m"), 4, "changed by hand: tritonsm rollback m\n"),
        (CheckoutError("no stage"), 1, "not delivered: no stage\n"),
        (NoCredentialsError(), 1, "not delivered: AWS: Unable to locate credentials\n"),
        (
            ClientError(REFUSED, "GetParameter"),
            1,
            "not delivered: the credentials have expired: get new ones (An error occurred "
            "(ExpiredTokenException) when calling the GetParameter operation: expired)\n",
        ),
        (
            KeyboardInterrupt(),
            130,
            "not delivered: interrupted, before anything was begun\n",
        ),
    ],
)
def test_each_way_to_fail_has_its_exit_code_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    message: str,
) -> None:
    assert ends(monkeypatch, error) == code
    assert capsys.readouterr().err == message


def test_wrong_arguments_do_not_end_as_a_wrong_deployment_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        tritonsm(["deliver"])
    assert ended.value.code == 1
    assert "STAGE" in capsys.readouterr().err


def test_a_rollback_says_what_brings_the_change_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "roll_back", lambda *_, **__: ("a" * 40, ["prod-text/a"]))
    assert tritonsm(["rollback-stage", "prod"]) == 0
    warning, result = capsys.readouterr().out.splitlines()
    assert warning.startswith(
        "! not invoked, so that nobody knows whether they answer: prod-text/a"
    )
    assert result.startswith("delivered: prod serves aaaaaaaaaaaa again. ")
    assert "revert it" in result


def test_a_golden_answer_needs_inputs_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert tritonsm(["golden", "dev", "minilm"]) == 1
    assert "golden.json is not there: write its inputs first" in capsys.readouterr().err
