"""The commits that were delivered to a stage: the SSM parameter `/triton/<stage>/delivered`."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import stage_record
from release.delivery.errors import NotDelivered
from stage_record import (
    BrokenRecord,
    Deliveries,
    Delivery,
    DeliveryOutcome,
    delivered_parameter,
)

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

MAX_ENTRIES = 10
ROLLBACK_TARGETS = (DeliveryOutcome.DELIVERED, DeliveryOutcome.ROLLED_BACK)
MAY_SERVE = (
    DeliveryOutcome.STARTED,
    DeliveryOutcome.DELIVERED,
    DeliveryOutcome.WRONG,
    DeliveryOutcome.UNFINISHED,
)
TAKE_OVER = "TAKE_OVER=1"
"""The option that allows a delivery while another one is in progress."""


class History:
    """The last deliveries of a stage, the newest last.

    Of the failed deliveries only the newest is kept, so that the record always has the last
    successful delivery and the live one.
    """

    def __init__(self, ssm: "SSMClient", stage: str) -> None:
        self._ssm = ssm
        self.stage = stage
        self.name = delivered_parameter(stage)
        self.current: Delivery | None = None

    def deliveries(self) -> Sequence[Delivery]:
        """Return the deliveries, the newest last."""
        return self._read().entries

    def live(self) -> Delivery | None:
        """Return the newest delivery whose commit may serve, None if there is none.

        A failed delivery was rolled back.
        """
        return _live(self.deliveries())

    def refuse_in_progress(self, commit: str, *, take_over: bool = False) -> None:
        """Raise `NotDelivered` if a delivery of another commit is in progress.

        With `take_over`, do not. A second delivery of the same commit continues the first.
        """
        self._refuse_in_progress(self._read(), commit, take_over)

    def begin(
        self, commit: str, *, back_to: Delivery | None = None, take_over: bool = False
    ) -> Delivery | None:
        """Record the start of a delivery; return the live one.

        With `back_to`, later deliveries are marked as rolled back, so that the next rollback goes
        further back. Raise `NotDelivered` as `refuse_in_progress` does. PutParameter has no
        conditional write: if two deliveries begin at the same time, the later write wins, and
        `refuse_superseded` ends the other delivery.
        """
        record = self._read()
        self._refuse_in_progress(record, commit, take_over)
        before = [
            replace(past, outcome=DeliveryOutcome.UNFINISHED)
            if past.outcome is DeliveryOutcome.STARTED
            else past
            for past in record.entries
        ]
        deliveries = _rolled_back(before, back_to) if back_to else before
        live = _live(deliveries)
        kept = [past for past in deliveries if past.outcome in ROLLBACK_TARGETS or past == live]
        self.current = Delivery(commit, datetime.now(UTC).isoformat(), DeliveryOutcome.STARTED)
        self._write([*kept, self.current])
        return _live(before)

    def refuse_superseded(self) -> None:
        """Raise `NotDelivered` if a delivery of another commit has begun since this one.

        A failed delivery does not count.
        """
        assert self.current
        newest = self.live()
        if newest and newest.commit != self.current.commit:
            raise NotDelivered(
                f"a delivery of commit {newest.commit[:12]} to {self.stage} began later, at "
                f"{newest.time}: this delivery ends before it changes an endpoint. Deliver again "
                f"when the other one has ended (tritonsm history {self.stage})"
            )

    def end(self, outcome: DeliveryOutcome) -> None:
        """Record the outcome of this delivery; keep newer deliveries of other processes."""
        assert self.current
        ended = replace(self.current, outcome=outcome)
        entries = [ended if past.is_same_delivery(ended) else past for past in self._read().entries]
        if ended not in entries:
            entries.append(ended)
        if entries[-1] == ended and outcome is DeliveryOutcome.DELIVERED:
            while len(entries) > 1 and _is_repeat(entries[-2], ended):
                del entries[-2]  # a repeated commit is not a step to roll back to
        self._write(entries)
        self.current = None

    def target(self, commit: str | None) -> Delivery:
        """Return the delivery to roll back to: that of a commit, or the last successful one.

        The live commit is never the last successful one. `commit` may be abbreviated. Raise
        `NotDelivered` if there is no such delivery.
        """
        deliveries = self.deliveries()
        for past in reversed(deliveries):
            if commit is not None:
                if past.outcome in ROLLBACK_TARGETS and past.commit.startswith(commit):
                    return past
            elif past.outcome is DeliveryOutcome.DELIVERED and not _is_repeat(past, deliveries[-1]):
                return past
        known = ", ".join(dict.fromkeys(past.commit[:12] for past in reversed(deliveries)))
        missing = f"commit {commit}" if commit else "earlier commit"
        raise NotDelivered(
            f"no {missing} was delivered to {self.stage}; {self.name} has: {known or 'none'}. "
            f"Check the commit out and deliver it: make deliver STAGE={self.stage}"
        )

    def _read(self) -> Deliveries:
        try:
            return stage_record.read_deliveries(self._ssm, self.stage)
        except BrokenRecord as error:
            raise NotDelivered(str(error)) from None

    def _refuse_in_progress(self, record: Deliveries, commit: str, take_over: bool) -> None:
        other = record.in_progress()
        if other and other.commit != commit and not take_over:
            raise NotDelivered(
                f"a delivery of commit {other.commit[:12]} to {self.stage} is in progress since "
                f"{other.time}: wait until it ends (tritonsm history {self.stage}). If it "
                f"was killed: {TAKE_OVER}"
            )

    def _write(self, deliveries: Sequence[Delivery]) -> None:
        record = {"deliveries": [asdict(delivery) for delivery in deliveries[-MAX_ENTRIES:]]}
        self._ssm.put_parameter(
            Name=self.name,
            Description=f"Commits that were delivered to {self.stage}, the newest last",
            Value=json.dumps(record, separators=(",", ":")),
            Type="String",
            Overwrite=True,
        )


def _live(deliveries: Sequence[Delivery]) -> Delivery | None:
    return next((past for past in reversed(deliveries) if past.outcome in MAY_SERVE), None)


def _rolled_back(deliveries: Sequence[Delivery], target: Delivery) -> list[Delivery]:
    """Return the deliveries; successful ones after `target` are marked as rolled back.

    Raise `NotDelivered` if the record no longer has the target.
    """
    matches = [index for index, past in enumerate(deliveries) if past.is_same_delivery(target)]
    if not matches:
        raise NotDelivered("other deliveries have ended since this command started: run it again")
    after = matches[0] + 1
    return [
        *deliveries[:after],
        *(
            replace(past, outcome=DeliveryOutcome.ROLLED_BACK)
            if past.outcome is DeliveryOutcome.DELIVERED
            else past
            for past in deliveries[after:]
        ),
    ]


def _is_repeat(delivery: Delivery, newest: Delivery) -> bool:
    """Return whether a delivery has the same commit as the newest one, and both succeeded."""
    return (delivery.commit, delivery.outcome) == (newest.commit, DeliveryOutcome.DELIVERED) and (
        newest.outcome is DeliveryOutcome.DELIVERED
    )
