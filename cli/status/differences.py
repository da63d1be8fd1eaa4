"""How stages differ from what was deployed to them."""

from collections.abc import Iterable
from typing import Any

import boto3

import stage_record
from cli.model_bucket import model_bucket
from cli.names import stage_of
from cli.status.scope import Scope
from release.delivery.live_differences import Problem, live_differences
from release.preflight.clients import client
from stage_record import Outcome


def differences(
    session: boto3.Session, scope: Scope, endpoints: Iterable[str], in_catalog: Iterable[str]
) -> list[Problem]:
    """Return what differs of endpoints in scope. Raises `ClientError`.

    Endpoints that the catalog has, or the last delivery of one stage, should exist.
    """
    by_stage: dict[str, set[str]] = {scope.stage: set()} if scope.stage else {}
    for name in {*endpoints, *in_catalog}:
        if stage := scope.stage or stage_of(name, scope.stages):
            by_stage.setdefault(stage, set()).add(name)
    cloudformation, s3 = client(session, "cloudformation"), client(session, "s3")
    problems = []
    for stage, names in by_stage.items():
        bucket = model_bucket(cloudformation, stage)
        expected = names.intersection(in_catalog)
        if bucket and scope.stage:
            expected |= _delivered_endpoints(s3, bucket, stage)
        problems += live_differences(session, stage, names, bucket, expected=expected)
    return problems


def _delivered_endpoints(s3: Any, bucket: str, stage: str) -> set[str]:
    """Return the endpoints of the newest delivery that ended well, and had models."""
    deliveries = (event for event in stage_record.read(s3, bucket) if event.commit)
    for event in deliveries:
        if event.result == Outcome.DELIVERED:
            return {f"{stage}-{model.partition('/')[0]}" for model in event.versions}
    return set()
