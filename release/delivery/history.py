"""Which commits were delivered to a stage: the SSM parameter `/triton/<stage>/delivered`.

It outlives the stage, whose next bucket has none of the archives: it names the stack of models that
it is about, and says nothing of another one.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

import stage_record
from release.delivery.errors import NotDelivered
from stage_record import (
    BrokenRecord,
    Deliveries,
    Delivery,
    Event,
    Outcome,
    delivered_parameter,
)

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

KEPT = 10
WORTH_KEEPING = (Outcome.DELIVERED, Outcome.ROLLED_BACK)
MAY_SERVE = (Outcome.STARTED, Outcome.DELIVERED, Outcome.WRONG, Outcome.UNFINISHED)
TAKE_OVER = "TAKE_OVER=1"
"""What lets a delivery begin while another one is in progress."""


class History:
    """The last deliveries of a stage, the newest last.

    Of those that failed only the newest is kept: however many fail, the last that succeeded stays,
    and so does the last that may serve.
    `models_stack` returns the id of the stage's stack of models as it is now, None where there is
    none: it is made by a first delivery, and another one once the stage was destroyed. `events`
    returns the stage's record, the newest first: it stands in for a parameter that was deleted.
    """

    def __init__(
        self,
        ssm: "SSMClient",
        stage: str,
        *,
        models_stack: Callable[[], str | None],
        events: Callable[[], Iterable[Event]] = tuple,
    ) -> None:
        self._ssm, self._models_stack, self._events = ssm, models_stack, events
        self.stage = stage
        self.name = delivered_parameter(stage)
        self.begun: Delivery | None = None

    def deliveries(self) -> list[Delivery]:
        """Return them, the newest last."""
        return self._of_this_stage(self._read())

    def live(self) -> Delivery | None:
        """Return the newest delivery that may have changed the stage, None where there is none.

        One that failed was rolled back.
        """
        return _live(self.deliveries())

    def refuse_in_progress(self, commit: str, *, take_over: bool = False) -> None:
        """Raise `NotDelivered` while another commit is delivered, unless that is taken over.

        The same commit once more continues a delivery that was killed.
        """
        self._refuse_in_progress(self._read(), commit, take_over)

    def begin(
        self, commit: str, *, back_to: Delivery | None = None, take_over: bool = False
    ) -> Delivery | None:
        """Record that a commit is about to be deployed; return what was live.

        With `back_to`, the deliveries after it are marked as rolled back, so that the next rollback
        goes further back. Raises `NotDelivered` as `refuse_in_progress` does, also where another
        delivery begins at the same time.
        """
        record = self._read()
        self._refuse_in_progress(record, commit, take_over)
        before = [
            replace(past, outcome=Outcome.UNFINISHED) if past.outcome is Outcome.STARTED else past
            for past in self._of_this_stage(record)
        ]
        after = _index(before, back_to) + 1 if back_to else len(before)
        deliveries = [*before[:after], *_marked(before[after:])]
        live = _live(deliveries)
        kept = [past for past in deliveries if past.outcome in WORTH_KEEPING or past == live]
        self.begun = Delivery(commit, datetime.now(UTC).isoformat(), Outcome.STARTED)
        try:
            self._begin_alone([*kept, self.begun], record.version)
        except NotDelivered:
            self.begun = None
            raise
        return _live(before)

    def refuse_superseded(self) -> None:
        """Raise `NotDelivered` where a delivery of another commit has begun since this one."""
        assert self.begun
        newest = self._read().entries[-1]  # whatever stack of models the stage has by now
        if newest.commit != self.begun.commit:
            raise NotDelivered(
                f"a delivery of commit {newest.commit[:12]} to {self.stage} has begun since, at "
                f"{newest.time}: this one ends before it changes an endpoint. Deliver again once "
                f"that one has ended (tritonsm history {self.stage})"
            )

    def end(self, outcome: Outcome) -> None:
        """Record how what was begun has ended, in whatever stack of models the stage has by now.

        The cdk CLI deletes a stack whose first deploy failed, and makes another one. Deliveries
        that others have begun or ended since stay as they are.
        """
        assert self.begun
        ended = replace(self.begun, outcome=outcome)
        record = self._read()
        version = record.version
        while (written := self._write(_with_end(record.entries, ended))) != version + 1:
            # Another delivery has ended at the same time, and this has overwritten that.
            record, version = self._read(written - 1), written
        self.begun = None

    def target(self, commit: str | None) -> Delivery:
        """Return what to roll back to: the delivery of a commit, or the last that succeeded.

        The last does not count where it is what serves now. `commit` may be the beginning of one.
        Raises `NotDelivered` where there is none.
        """
        deliveries = self.deliveries()
        fit = [past for past in deliveries[::-1] if past.outcome in WORTH_KEEPING]
        if commit is not None:
            fit = [past for past in fit if past.commit.startswith(commit)]
        else:
            fit = [
                past
                for past in fit
                if past.outcome is Outcome.DELIVERED and not _serves(past, deliveries)
            ]
        if fit:
            return fit[0]
        known = ", ".join(dict.fromkeys(past.commit[:12] for past in deliveries[::-1])) or "none"
        missing = f"commit {commit}" if commit else "earlier commit"
        raise NotDelivered(
            f"no {missing} was delivered to {self.stage}; {self.name} has: {known}. Check the "
            f"commit out and deliver it: make deliver STAGE={self.stage}"
        )

    def _read(self, version: int | None = None) -> Deliveries:
        try:
            record = stage_record.read_deliveries(self._ssm, self.stage, version=version)
        except BrokenRecord as error:
            raise NotDelivered(str(error)) from None
        if record.version:
            return record
        recorded = islice((event for event in self._events() if event.commit), KEPT)
        return replace(record, entries=tuple(map(_delivery, recorded))[::-1])

    def _of_this_stage(self, record: Deliveries) -> list[Delivery]:
        return list(record.entries) if record.stack in (None, self._models_stack()) else []

    def _refuse_in_progress(self, record: Deliveries, commit: str, take_over: bool) -> None:
        other = record.in_progress()
        if other and other.commit != commit and not take_over:
            raise NotDelivered(
                f"a delivery of commit {other.commit[:12]} to {self.stage} is in progress since "
                f"{other.time}: wait until it ends (tritonsm history {self.stage}). If it "
                f"was killed: {TAKE_OVER}"
            )

    def _begin_alone(self, deliveries: Sequence[Delivery], version: int) -> None:
        """Write what follows a version. Raises `NotDelivered` where another delivery did so first.

        PutParameter has no condition but that there is no parameter. It answers with the number of
        the version that it has made: after a number that is not the next, the other one's value is
        written again.
        """
        try:
            written = self._write(deliveries, overwrite=version > 0)
        except self._ssm.exceptions.ParameterAlreadyExists:
            written = None
        if written == version + 1:
            return
        if written:
            other = self._ssm.get_parameter(Name=f"{self.name}:{written - 1}")["Parameter"]["Value"]
            self._put(other)
        raise NotDelivered(
            f"another delivery to {self.stage} has begun at the same time: wait until it ends "
            f"(tritonsm history {self.stage}), and deliver again"
        )

    def _write(self, deliveries: Sequence[Delivery], *, overwrite: bool = True) -> int:
        """Return the number of the parameter's version."""
        kept = [asdict(delivery) for delivery in deliveries[-KEPT:]]
        record = {"stack": self._models_stack(), "deliveries": kept}
        return self._put(json.dumps(record, separators=(",", ":")), overwrite=overwrite)

    def _put(self, value: str, *, overwrite: bool = True) -> int:
        return self._ssm.put_parameter(
            Name=self.name,
            Description=f"Commits that were delivered to {self.stage}, the newest last",
            Value=value,
            Type="String",
            Overwrite=overwrite,
        )["Version"]


def _live(deliveries: Sequence[Delivery]) -> Delivery | None:
    return next((past for past in reversed(deliveries) if past.outcome in MAY_SERVE), None)


def _index(deliveries: Sequence[Delivery], one: Delivery) -> int:
    """Raise `NotDelivered` where the record does not have a delivery any more."""
    for index, past in enumerate(deliveries):
        if past.is_same(one):
            return index
    raise NotDelivered("other deliveries have ended since this command began: run it again")


def _marked(deliveries: Sequence[Delivery]) -> list[Delivery]:
    return [
        replace(past, outcome=Outcome.ROLLED_BACK) if past.outcome is Outcome.DELIVERED else past
        for past in deliveries
    ]


def _delivery(event: Event) -> Delivery:
    """Return the delivery of an event; one that ended in another way may be what serves."""
    is_outcome = event.result in list(Outcome)
    outcome = Outcome(event.result) if is_outcome else Outcome.WRONG
    return Delivery(str(event.commit), event.begun, outcome)


def _with_end(deliveries: Iterable[Delivery], ended: Delivery) -> list[Delivery]:
    recorded = list(deliveries)
    if not any(past.is_same(ended) for past in recorded):
        recorded.append(ended)
    recorded = [ended if past.is_same(ended) else past for past in recorded]
    is_newest = recorded[-1] == ended and ended.outcome is Outcome.DELIVERED
    return _without_repeats(recorded) if is_newest else recorded


def _without_repeats(deliveries: Sequence[Delivery]) -> list[Delivery]:
    """Drop the deliveries of the same commit before the last: no step that could be rolled back."""
    *before, last = deliveries
    while before and before[-1].commit == last.commit and before[-1].outcome is last.outcome:
        before.pop()
    return [*before, last]


def _serves(delivery: Delivery, deliveries: Sequence[Delivery]) -> bool:
    newest = deliveries[-1]
    return newest.outcome is Outcome.DELIVERED and newest.commit == delivery.commit
