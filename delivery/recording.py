"""Record a delivery: its caller, its model versions and its outcome."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from botocore.exceptions import BotoCoreError, ClientError

from delivery.deployment import StageDeployment
from delivery.errors import (
    ChangedByHand,
    FaultyDeployment,
    NotDelivered,
    Unfinished,
    explain_error,
)
from delivery.hand_deploys import template_digests
from delivery.history import History
from delivery.steps import say
from endpoint_client import EndpointError
from plan import stage_record
from plan.stage_record import Delivery, DeliveryOutcome, Event
from release.checkout import CheckoutError
from release.stack_catalog import catalog_entries
from release.templates import Template

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
            f"{endpoint.short_name}/{model}": version
            for endpoint in deployment.assembly.endpoints
            for model, version in model_versions(deployment.new_template(endpoint)).items()
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


def model_versions(template: Template) -> dict[str, str]:
    """Return model -> version of the catalog entries in a template."""
    entries = map(json.loads, catalog_entries(template).values())
    return {entry["model"]: entry["version"] for entry in entries}
