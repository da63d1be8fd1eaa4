"""How stages differ from what was deployed to them."""

from collections.abc import Iterable

import boto3

from cli.model_bucket import model_bucket
from cli.names import stage_of
from cli.status.scope import Scope
from release.delivery.live_differences import Problem, live_differences
from release.preflight.clients import client


def differences(session: boto3.Session, scope: Scope, endpoints: Iterable[str]) -> list[Problem]:
    """Return what differs of endpoints in scope. Raises `ClientError`."""
    by_stage: dict[str, list[str]] = {}
    for name in endpoints:
        if stage := scope.stage or stage_of(name, scope.stages):
            by_stage.setdefault(stage, []).append(name)
    cloudformation = client(session, "cloudformation")
    return [
        problem
        for stage, names in by_stage.items()
        for problem in live_differences(session, stage, names, model_bucket(cloudformation, stage))
    ]
