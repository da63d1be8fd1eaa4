"""The history of a stage's deliveries: what is live, what to roll back to, and what is in progress.

The record is in the stage's bucket (`plan.stage_record`), which the first delivery creates: only
its end is recorded.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

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
from delivery.store import has_releases
from endpoint_client import EndpointError
from plan import stage_record
from plan.archives import ArchiveBucket, ArchiveReplaced
from plan.stage_record import ROLLBACK, Deliveries, DeliveryOutcome, Event
from platform_facts.rules.bucket_keys import HISTORY
from release.checkout import CheckoutError

TAKE_OVER_OPTION = "TAKE_OVER=1"
"""The option that allows a delivery while another delivery is in progress."""


NOTHING_CHANGED = (
    *(NotDelivered, ArchiveReplaced, CheckoutError),
    *(BotoCoreError, ClientError, EndpointError),
)
"""Errors of a delivery that changed nothing or was rolled back.

Errors of AWS during a change are raised as `Unfinished` or `FaultyDeployment` instead.
"""
RESULTS = (
    (ChangedByHand, DeliveryOutcome.CHANGED_BY_HAND),
    (FaultyDeployment, DeliveryOutcome.WRONG),
    (NOTHING_CHANGED, DeliveryOutcome.FAILED),
    (BaseException, DeliveryOutcome.UNFINISHED),
)
"""Error -> the result of the delivery."""
DELETED_RECORD = "the record of deliveries was deleted (history/ in the bucket of the models)"
MAX_MESSAGE = 1000
"""Maximum length of a recorded error, in characters."""


def record_is_deleted(bucket: ArchiveBucket | None, deliveries: Sequence[Event]) -> bool:
    """Return whether the bucket of a stage has releases, and no record of a delivery."""
    return bool(bucket and not deliveries and has_releases(bucket))


class History:
    """The deliveries of a stage; `bucket` returns its bucket, None before the first delivery."""

    def __init__(self, stage: str, bucket: Callable[[], ArchiveBucket | None]) -> None:
        self.stage, self._bucket = stage, bucket

    def deliveries(self) -> Deliveries:
        """Return the latest deliveries."""
        bucket = self._bucket()
        return Deliveries.read(bucket.s3, bucket.name) if bucket else Deliveries()

    def refuse_in_progress(self, release: str, *, take_over: bool = False) -> Event | None:
        """Raise `NotDelivered` if a delivery of another release is in progress.

        Return the live delivery. A second delivery of the same release continues the first. Raise
        it also if the record was deleted, so that nobody knows what is live. `take_over` skips the
        checks.
        """
        deliveries = self.deliveries()
        if not take_over and record_is_deleted(self._bucket(), deliveries.entries):
            raise NotDelivered(
                f"{DELETED_RECORD}: nobody knows which release of {self.stage} is live, and "
                f"whether this one would revert it. If it does not: {TAKE_OVER_OPTION}"
            )
        active = deliveries.in_progress()
        if active and active.release != release and not take_over:
            raise NotDelivered(
                f"a delivery of {active.release_name} to {self.stage} is in progress since "
                f"{active.begun}: wait until it ends (tritonsm history {self.stage}). If it "
                f"was killed: {TAKE_OVER_OPTION}"
            )
        return deliveries.live()

    def refuse_superseded(self, release: str) -> None:
        """Raise `NotDelivered` if a delivery of another release has started since this delivery.

        A failed delivery does not count.
        """
        newest = self.deliveries().live()
        if newest and newest.release != release:
            raise NotDelivered(
                f"a delivery of {newest.release_name} to {self.stage} started later, at "
                f"{newest.begun}: this delivery ends before it changes an endpoint. Deliver again "
                f"when the other one has ended (tritonsm history {self.stage})"
            )

    def rollback_target(self, name: str | None) -> Event:
        """Return the newest delivery of a release or commit, whose `name` may be abbreviated.

        By default, return the last successful delivery of another release than the newest, unless
        the newest failed; rollbacks that failed, which changed nothing, do not count. Raise
        `NotDelivered` if there is no such delivery.
        """
        deliveries = self.deliveries()
        entries = deliveries.entries if name else deliveries.remaining()
        failed_rollback = ROLLBACK, DeliveryOutcome.FAILED
        attempts = [event for event in deliveries.entries
                    if (event.action, event.result) != failed_rollback]  # fmt: skip
        for event in reversed(entries):
            if event.result != DeliveryOutcome.DELIVERED:
                continue
            newest = attempts[-1]
            if name is None:
                is_target = newest.result == DeliveryOutcome.FAILED
                is_target |= event.release != newest.release
            else:
                ids = event.release or "", event.commit or ""
                is_target = any(identity.startswith(name) for identity in ids)
            if is_target:
                return event
        names = dict.fromkeys(event.release_name for event in reversed(deliveries.entries))
        missing = f"release or commit {name}" if name else "earlier release"
        raise NotDelivered(
            f"no {missing} was delivered to {self.stage}, whose record has: "
            f"{', '.join(names) or 'none'}. Deliver its release: from the artefact of its "
            f"workflow, or build it: make release deliver STAGE={self.stage} ALLOW_OLDER=1"
        )

    @contextmanager
    def record(
        self,
        deployment: StageDeployment,
        action: str,
        *,
        commit: str,
        release: str,
        take_over: bool = False,
    ) -> Iterator[Event | None]:
        """Record a delivery at the start and the end of the `with` block; provide the live one.

        Raise as `refuse_in_progress` does, without a record. Of two deliveries that start at the
        same time, `refuse_superseded` ends the earlier one. Only a killed process leaves a delivery
        in progress.
        """
        event = Event(
            stage=self.stage,
            action=action,
            who=deployment.session.client("sts").get_caller_identity()["Arn"],
            versions={
                f"{endpoint}/{model}": version
                for endpoint, models in deployment.assembly.versions.items()
                for model, version in models.items()
            },
            commit=commit,
            release=release,
        )
        live = self.refuse_in_progress(release, take_over=take_over)
        self._write(event)
        try:
            yield live
        except BaseException as error:
            result = next(result for kinds, result in RESULTS if isinstance(error, kinds))
            message = str(error) or type(error).__name__
            if isinstance(error, BotoCoreError | ClientError | EndpointError):
                message = explain_error(error)
            self._write_end(deployment, event.end(result, message[:MAX_MESSAGE]))
            if isinstance(error, KeyboardInterrupt):
                raise Unfinished("interrupted") from None
            raise
        self._write_end(deployment, event.end(DeliveryOutcome.DELIVERED))

    def _write(self, event: Event) -> None:
        if bucket := self._bucket():
            stage_record.write(bucket.s3, bucket.name, event)

    def _write_end(self, deployment: StageDeployment, event: Event) -> None:
        """Write the end of a delivery, with digests of the deployed templates.

        Print errors instead of raising them.
        """
        cloudformation = deployment.session.client("cloudformation")
        try:
            stacks = template_digests(cloudformation, deployment.assembly.templates)
        except (BotoCoreError, ClientError):
            stacks = {}  # credentials have expired: the next delivery finds no difference
        try:
            self._write(replace(event, stacks=stacks))
        except (BotoCoreError, ClientError) as error:
            say(f"! {HISTORY} does not have the result '{event.result}': {error}")
