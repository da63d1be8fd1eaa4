"""The report: each service is asked, and what they say is put together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import boto3

from cli.status import alarms, catalog, endpoints, metrics, scaling
from cli.status.asking import Asking
from cli.status.differences import differences
from cli.status.local_state import LocalState
from cli.status.log_errors import with_errors
from cli.status.metrics import Window
from cli.status.report import Endpoint, Load, Report, Requests, Scaling, Variant
from cli.status.scaling import Place, Scaled
from cli.status.scope import Scope
from cli.status.triton_metrics import requests_by_model
from release.preflight.clients import client

AWS_SPEED = 1.0


def report(
    session: boto3.Session, scope: Scope, *, now: datetime, local: LocalState | None = None
) -> Report:
    """Ask AWS, or the local SageMaker, which is in the `local` state.

    Who may not ask for something gets the rest, but for the endpoints themselves. Raises
    `ClientError` and `BotoCoreError`.
    """
    asking = Asking()
    cloudwatch = client(session, "cloudwatch")
    autoscaling = client(session, "application-autoscaling")
    ssm = client(session, "ssm")
    described = endpoints.described(client(session, "sagemaker"), scope)
    names = [endpoint["EndpointName"] for endpoint in described]
    places = [
        Place(it["EndpointName"], variant["VariantName"])
        for it in described
        for variant in it.get("ProductionVariants", ())
    ]
    models = asking.ask("models", lambda: catalog.models(ssm, scope.stage)) or []
    if local:
        beside = [it for it in local.beside(models) if scope.has(it.endpoint)]
        models = [replace(it, loaded=local.loaded(it.endpoint, it.archive)) for it in models]
        models = sorted([*models, *beside], key=lambda it: (it.endpoint, it.name))
    minutes = Window.full_minutes(now)
    logs = client(session, "logs")
    models = asking.ask("log errors", lambda: with_errors(logs, models, minutes)) or models
    known = asking.ask("scaling", lambda: scaling.scaled_variants(autoscaling)) or {}
    scaled = {place: it for place, it in known.items() if place in places}
    speed = local.speed if local else AWS_SPEED
    followed = Window.of_policies(now, speed) if speed else None
    measured = asking.ask(
        "load", lambda: _measured(cloudwatch, places, scaled, minutes, followed)
    ) or _Measured({}, {place: it.at({}) for place, it in scaled.items()})
    return Report(
        since=minutes.since,
        until=minutes.until,
        endpoints=[_endpoint(it, measured) for it in described],
        models=models,
        alarms=asking.ask("alarms", lambda: alarms.not_ok(cloudwatch, scope)) or [],
        activities=asking.ask(
            "scaling activities", lambda: scaling.latest_activities(autoscaling, scaled)
        )
        or [],
        differences=asking.ask(
            "differences",
            lambda: differences(session, scope, names, {it.endpoint for it in models}),
        )
        or [],
        requests=_requests(asking, cloudwatch, names, minutes, local),
        not_asked=asking.refused,
    )


def _requests(
    asking: Asking,
    cloudwatch: Any,
    names: Iterable[str],
    minutes: Window,
    local: LocalState | None,
) -> list[Requests] | None:
    """Return Triton's own counters: the local SageMaker has none, and refuses searches."""
    if local:
        return []
    return asking.ask("requests by model", lambda: requests_by_model(cloudwatch, names, minutes))


@dataclass(frozen=True)
class _Measured:
    """Load and scaling, by variant."""

    loads: Mapping[Place, Load]
    scalings: Mapping[Place, Scaling]


def _measured(
    cloudwatch: Any,
    places: Iterable[Place],
    scaled: Mapping[Place, Scaled],
    minutes: Window,
    followed: Window | None,
) -> _Measured:
    """Ask for all metrics, at once where load and policies are of the same minutes.

    Without those of policies, nothing is said of what they follow.
    """
    queries = {minutes: [it for place in places for it in metrics.load_queries(*place)]}
    if followed:
        of_policies = [it.query for target in scaled.values() for it in target.followed]
        queries[followed] = queries.get(followed, []) + of_policies
    found = {it: metrics.values(cloudwatch, asked, it) for it, asked in queries.items()}
    return _Measured(
        {it: metrics.load(*it, found[minutes]) for it in places},
        {
            place: it.at(found[followed], followed.minutes) if followed else it.at({})
            for place, it in scaled.items()
        },
    )


def _endpoint(described: endpoints.Record, measured: _Measured) -> Endpoint:
    name = described["EndpointName"]
    return Endpoint(
        name=name,
        status=described["EndpointStatus"],
        reason=described.get("FailureReason"),
        variants=[
            _variant(it, Place(name, it["VariantName"]), measured)
            for it in described.get("ProductionVariants", ())
        ],
    )


def _variant(described: endpoints.Record, place: Place, measured: _Measured) -> Variant:
    return Variant(
        name=place.variant,
        weight=described.get("CurrentWeight"),
        instances=described.get("CurrentInstanceCount", 0),
        desired_instances=described.get("DesiredInstanceCount", 0),
        scaling=measured.scalings.get(place),
        load=measured.loads.get(place, Load()),
    )
