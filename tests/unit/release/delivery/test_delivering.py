from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from release.delivery import delivering
from release.delivery.errors import DeliveredWrong
from release.delivery.history import History, Outcome


class Expired:
    """A history that can no longer be written."""

    name = "/triton/prod/delivered"

    def end(self, outcome: Outcome) -> None:
        error: Any = {"Error": {"Code": "ExpiredToken", "Message": str(outcome)}}
        raise ClientError(error, "PutParameter")


def test_what_cannot_be_remembered_does_not_change_how_it_ended(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def wrong() -> None:
        raise DeliveredWrong("Y differs")

    history = cast(History, Expired())
    with pytest.raises(DeliveredWrong, match="Y differs"):
        delivering._remembered(history, wrong)
    delivering._remembered(history, lambda: None)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2
    assert all("still says that this delivery is in progress" in line for line in said)
