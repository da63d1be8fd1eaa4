"""The releases that were delivered to a stage: the SSM parameter `/triton/<stage>/delivered`.

If it was deleted, the deliveries are read from the stage's events, and the next one writes it anew.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from delivery.deploy import StageDeployment
from delivery.drift import template_digests
from delivery.errors import (
    ChangedByHand,
    FaultyDeployment,
    NotDelivered,
    Unfinished,
    explain_error,
)
from delivery.steps import say
from endpoint_client import EndpointError
from plan import stage_record
from plan.stage_record import (
    BrokenRecord,
    Deliveries,
    Delivery,
    DeliveryOutcome,
    Event,
)
from platform_facts.rules.catalog import deliveries_name
from release.checkout import CheckoutError

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

MAX_ENTRIES = 10
ROLLBACK_OUTCOMES = (DeliveryOutcome.DELIVERED, DeliveryOutcome.ROLLED_BACK)
LIVE_OUTCOMES = (
    DeliveryOutcome.STARTED,
    DeliveryOutcome.DELIVERED,
    DeliveryOutcome.WRONG,
    DeliveryOutcome.UNFINISHED,
)
ROLLBACK = "rollback-stage"
"""The action of a rollback in its event."""
TAKE_OVER_OPTION = "TAKE_OVER=1"
"""The option that allows a delivery while another delivery is in progress."""


NOTHING_CHANGED = (NotDelivered, CheckoutError, BotoCoreError, ClientError, EndpointError)
"""Errors of a delivery that changed nothing or was rolled back.

Errors of AWS during a change are raised as `Unfinished` or `FaultyDeployment` instead.
"""
RESULTS = (
    (ChangedByHand, (DeliveryOutcome.WRONG, "changed by hand")),
    (FaultyDeployment, (DeliveryOutcome.WRONG, "wrong")),
    (NOTHING_CHANGED, (DeliveryOutcome.FAILED, "failed")),
    (BaseException, (DeliveryOutcome.UNFINISHED, "unfinished")),
)
"""Error -> the outcome of the delivery, and the result in its event."""
MAX_MESSAGE = 1000
"""Maximum length of a recorded error, in characters."""


class History:
    """The record of a stage's last deliveries.

    Of the failed deliveries only the newest is kept, so that the record always has the last
    successful delivery and the live delivery. `events` returns the stage's latest events, the
    newest first.
    """

    def __init__(
        self, ssm: "SSMClient", stage: str, events: Callable[[], Iterable[Event]] = tuple
    ) -> None:
        self._ssm, self._events = ssm, events
        self.stage = stage
        self.parameter = deliveries_name(stage)
        self.current_delivery: Delivery | None = None

    def deliveries(self) -> Sequence[Delivery]:
        """Return the deliveries, the newest last."""
        return self._read().entries

    def live_delivery(self) -> Delivery | None:
        """Return the newest delivery whose release may be in service, None if there is none.

        A failed delivery is never live, because it was rolled back.
        """
        return _live_delivery(self.deliveries())

    def refuse_in_progress(self, identity: str, *, take_over: bool = False) -> None:
        """Raise `NotDelivered` if a delivery of another release is in progress.

        A second delivery of the same release continues the first. `take_over` skips the check.
        """
        active = self._read().in_progress()
        if active and active.identity != identity and not take_over:
            raise NotDelivered(
                f"a delivery of {active.name} to {self.stage} is in progress since "
                f"{active.time}: wait until it ends (tritonsm history {self.stage}). If it "
                f"was killed: {TAKE_OVER_OPTION}"
            )

    def record_start(
        self,
        commit: str,
        release: str = "",
        *,
        rolls_back_to: Delivery | None = None,
        take_over: bool = False,
    ) -> Delivery | None:
        """Record the start of a delivery; return the live delivery.

        With `rolls_back_to`, mark later deliveries as rolled back, so that the next rollback goes
        further back. Raise `NotDelivered` as `refuse_in_progress` does. PutParameter has no
        conditional write: if two deliveries start at the same time, the later write wins, and
        `refuse_superseded` ends the other delivery.
        """
        self.refuse_in_progress(release or commit, take_over=take_over)
        earlier = [
            _change_outcome(delivery, DeliveryOutcome.STARTED, DeliveryOutcome.UNFINISHED)
            for delivery in self.deliveries()
        ]
        marked = _mark_rolled_back(earlier, rolls_back_to) if rolls_back_to else earlier
        live = _live_delivery(marked)
        recorded = [
            delivery
            for delivery in marked
            if delivery.outcome in ROLLBACK_OUTCOMES or delivery == live
        ]
        start = datetime.now(UTC).isoformat()
        self.current_delivery = Delivery(commit, start, DeliveryOutcome.STARTED, release)
        self._write([*recorded, self.current_delivery])
        return _live_delivery(earlier)

    def refuse_superseded(self) -> None:
        """Raise `NotDelivered` if a delivery of another release has started since this delivery.

        A failed delivery does not count.
        """
        assert self.current_delivery
        newest = self.live_delivery()
        if newest and newest.identity != self.current_delivery.identity:
            raise NotDelivered(
                f"a delivery of {newest.name} to {self.stage} started later, at "
                f"{newest.time}: this delivery ends before it changes an endpoint. Deliver again "
                f"when the other one has ended (tritonsm history {self.stage})"
            )

    def record_outcome(self, outcome: DeliveryOutcome) -> None:
        """Record the outcome of this delivery; keep newer deliveries of other processes."""
        assert self.current_delivery
        finished = replace(self.current_delivery, outcome=outcome)
        entries = [
            finished if delivery.is_same_delivery(finished) else delivery
            for delivery in self.deliveries()
        ]
        if finished not in entries:
            entries.append(finished)
        if entries[-1] == finished:
            while len(entries) > 1 and _is_repeat(entries[-2], finished):
                del entries[-2]  # a rollback to the same release would change nothing
        self._write(entries)
        self.current_delivery = None

    def rollback_target(self, name: str | None) -> Delivery:
        """Return the newest delivery of a release or commit, whose `name` may be abbreviated.

        By default, return the last successful delivery of another release than the live one. Raise
        `NotDelivered` if there is no such delivery.
        """
        deliveries = self.deliveries()
        for delivery in reversed(deliveries):
            if name is not None:
                is_named = delivery.release.startswith(name) or delivery.commit.startswith(name)
                if delivery.outcome in ROLLBACK_OUTCOMES and is_named:
                    return delivery
            elif delivery.outcome is DeliveryOutcome.DELIVERED and not _is_repeat(
                delivery, deliveries[-1]
            ):
                return delivery
        names = dict.fromkeys(delivery.name for delivery in reversed(deliveries))
        missing = f"release or commit {name}" if name else "earlier release"
        raise NotDelivered(
            f"no {missing} was delivered to {self.stage}; {self.parameter} has: "
            f"{', '.join(names) or 'none'}. Deliver its release: from the artefact of its "
            f"workflow, or build it: make release deliver STAGE={self.stage} ALLOW_OLDER=1"
        )

    def _read(self) -> Deliveries:
        try:
            recorded = stage_record.read_deliveries(self._ssm, self.stage)
        except BrokenRecord as error:
            raise NotDelivered(str(error)) from None
        return recorded if recorded.entries else self._restored

    @cached_property
    def _restored(self) -> Deliveries:
        """The deliveries among the events, for a parameter that was deleted."""
        entries: list[Delivery] = []
        for event in reversed([*self._events()]):
            if event.commit is None:  # of a publication
                continue
            entry = Delivery(event.commit, event.begun, _outcome(event), event.release or "")
            targets = [delivery for delivery in entries if delivery.identity == entry.identity]
            if event.action == ROLLBACK and targets:
                entries = _mark_rolled_back(entries, targets[-1])
            entries.append(entry)
        if entries:
            say(f"! {self.parameter} was deleted: its deliveries are read from history/")
        return Deliveries(tuple(entries))

    def _write(self, deliveries: Sequence[Delivery]) -> None:
        record = {"deliveries": [asdict(delivery) for delivery in deliveries[-MAX_ENTRIES:]]}
        self._ssm.put_parameter(
            Name=self.parameter,
            Description=f"Releases that were delivered to {self.stage}, the newest last",
            Value=json.dumps(record, separators=(",", ":")),
            Type="String",
            Overwrite=True,
        )


def _outcome(event: Event) -> DeliveryOutcome:
    """Return the outcome in an event; its other results are faults of a deployed commit."""
    try:
        return DeliveryOutcome(event.result)
    except ValueError:
        return DeliveryOutcome.WRONG


def _live_delivery(deliveries: Sequence[Delivery]) -> Delivery | None:
    live = (delivery for delivery in reversed(deliveries) if delivery.outcome in LIVE_OUTCOMES)
    return next(live, None)


def _mark_rolled_back(deliveries: Sequence[Delivery], target: Delivery) -> list[Delivery]:
    """Return the deliveries; successful deliveries after `target` are marked as rolled back.

    Raise `NotDelivered` if the record no longer has the target.
    """
    matches = [
        index for index, delivery in enumerate(deliveries) if delivery.is_same_delivery(target)
    ]
    if not matches:
        raise NotDelivered("other deliveries have ended since this command started: run it again")
    return [
        delivery
        if index <= matches[0]
        else _change_outcome(delivery, DeliveryOutcome.DELIVERED, DeliveryOutcome.ROLLED_BACK)
        for index, delivery in enumerate(deliveries)
    ]


def _change_outcome(delivery: Delivery, old: DeliveryOutcome, new: DeliveryOutcome) -> Delivery:
    """Return a delivery with the outcome `new` if its outcome is `old`."""
    return replace(delivery, outcome=new) if delivery.outcome is old else delivery


def _is_repeat(delivery: Delivery, newest: Delivery) -> bool:
    """Return whether two deliveries have the same release, and both succeeded."""
    delivered = DeliveryOutcome.DELIVERED
    return delivery.identity == newest.identity and delivery.outcome is newest.outcome is delivered


@contextmanager
def record_delivery(
    deployment: StageDeployment,
    history: History,
    action: str,
    commit: str,
    release: str = "",
    *,
    rolls_back_to: Delivery | None = None,
    take_over: bool = False,
) -> Iterator[Delivery | None]:
    """Record a delivery at the start and the end of the `with` block; provide the live delivery.

    Only a killed process leaves a delivery in progress. The bucket for events does not exist before
    the first delivery of a stage, so that its event is written only at the end. A delivery that is
    refused because another one is in progress is not recorded.
    """
    event = Event(
        stage=deployment.assembly.stage,
        action=action,
        who=deployment.session.client("sts").get_caller_identity()["Arn"],
        versions={
            f"{endpoint}/{model}": version
            for endpoint, models in deployment.assembly.versions.items()
            for model, version in models.items()
        },
        commit=commit,
        release=release or None,
    )
    live_delivery = history.record_start(
        commit, release, rolls_back_to=rolls_back_to, take_over=take_over
    )
    try:
        _write_event(deployment, event)
        yield live_delivery
    except BaseException as error:
        outcome, result = next(results for kinds, results in RESULTS if isinstance(error, kinds))
        message = str(error) or type(error).__name__
        if isinstance(error, BotoCoreError | ClientError | EndpointError):
            message = explain_error(error)
        _record_outcome(history, outcome)
        _write_end(deployment, event.end(result, message[:MAX_MESSAGE]))
        if isinstance(error, KeyboardInterrupt):
            raise Unfinished("interrupted") from None
        raise
    _record_outcome(history, DeliveryOutcome.DELIVERED)
    _write_end(deployment, event.end(DeliveryOutcome.DELIVERED))


def _record_outcome(history: History, outcome: DeliveryOutcome) -> None:
    """Record an outcome in the history. Print errors instead of raising them."""
    try:
        history.record_outcome(outcome)
    except (BotoCoreError, ClientError, NotDelivered) as error:
        say(f"! {history.parameter} still has this delivery as in progress: {error}")


def _write_end(deployment: StageDeployment, event: Event) -> None:
    """Write the end of a delivery, with digests of the deployed templates."""
    cloudformation = deployment.session.client("cloudformation")
    try:
        stacks = template_digests(cloudformation, deployment.assembly.templates)
    except (BotoCoreError, ClientError):
        stacks = {}  # credentials have expired: the next delivery finds no difference
    _write_event(deployment, replace(event, stacks=stacks))


def _write_event(deployment: StageDeployment, event: Event) -> None:
    """Write an event to the bucket. Print errors instead of raising them."""
    try:
        if bucket := deployment.bucket:
            stage_record.write(bucket.s3, bucket.name, event)
    except (BotoCoreError, ClientError) as error:
        say(f"! {stage_record.FOLDER} does not have the result {event.result!r}: {error}")
