"""Which commits a stage was delivered: the SSM parameter `/triton/<stage>/delivered`."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from release.delivery.errors import NotDelivered

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

KEPT = 10


class Outcome(StrEnum):
    """How a delivery ended. `STARTED` is one that was cut off, or is under way."""

    STARTED = "started"
    DELIVERED = "delivered"
    FAILED = "failed"
    WRONG = "wrong"
    TAKEN_BACK = "taken back"


WORTH_KEEPING = (Outcome.DELIVERED, Outcome.TAKEN_BACK)


@dataclass(frozen=True)
class Delivery:
    """One commit on its way to the stage, at a time in UTC."""

    commit: str
    time: str
    outcome: Outcome


class History:
    """The last deliveries of a stage, the newest last.

    Of those that did not end well only the newest is kept: however many fail, what can be gone
    back to stays.
    """

    def __init__(self, ssm: "SSMClient", stage: str) -> None:
        self._ssm, self._stage = ssm, stage
        self.name = f"/triton/{stage}/delivered"

    def deliveries(self) -> list[Delivery]:
        """Return them."""
        try:
            value = self._ssm.get_parameter(Name=self.name)["Parameter"]["Value"]
        except self._ssm.exceptions.ParameterNotFound:
            return []
        return [
            Delivery(it["commit"], it["time"], Outcome(it["outcome"])) for it in json.loads(value)
        ]

    def begin(self, commit: str, *, back_to: Delivery | None = None) -> None:
        """Write down that a commit is about to be deployed.

        With `back_to`, what was delivered after it is marked as taken back: going back once more
        goes further.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        found = self.deliveries()
        if back_to is None and found and _serves(found[-1], found) and found[-1].commit == commit:
            found = found[:-1]  # the same commit once more is no step that could be gone back
        after = found.index(back_to) + 1 if back_to else len(found)
        taken = [
            replace(it, outcome=Outcome.TAKEN_BACK) if it.outcome is Outcome.DELIVERED else it
            for it in found[after:]
        ]
        kept = [it for it in (*found[:after], *taken) if it.outcome in WORTH_KEEPING]
        self._write([*kept, Delivery(commit, now, Outcome.STARTED)])

    def end(self, outcome: Outcome) -> None:
        """Write down how that went."""
        *before, last = self.deliveries()
        self._write([*before, replace(last, outcome=outcome)])

    def target(self, wanted: str | None) -> Delivery:
        """Return where to go back to: the delivery of `wanted`, or the last that went well.

        What serves now, because the newest delivery went well, is no way back. `wanted` may be the
        beginning of a commit. Raises `NotDelivered` where there is none.
        """
        found = self.deliveries()
        fit = [it for it in found[::-1] if it.outcome in WORTH_KEEPING]
        if wanted is not None:
            fit = [it for it in fit if it.commit.startswith(wanted)]
        else:
            fit = [it for it in fit if it.outcome is Outcome.DELIVERED and not _serves(it, found)]
        if fit:
            return fit[0]
        known = ", ".join(dict.fromkeys(it.commit[:12] for it in found[::-1])) or "none"
        what = f"commit {wanted}" if wanted else "earlier commit"
        raise NotDelivered(
            f"{self._stage} was delivered no {what}, in {self.name} stand: {known}. Check the "
            f"commit out and deliver it: make deliver STAGE={self._stage}"
        )

    def _write(self, deliveries: Sequence[Delivery]) -> None:
        self._ssm.put_parameter(
            Name=self.name,
            Description=f"Commits that {self._stage} was delivered, the newest last",
            Value=json.dumps([asdict(it) for it in deliveries[-KEPT:]], separators=(",", ":")),
            Type="String",
            Overwrite=True,
        )


def _serves(delivery: Delivery, deliveries: Sequence[Delivery]) -> bool:
    newest = deliveries[-1]
    return newest.outcome is Outcome.DELIVERED and newest.commit == delivery.commit
