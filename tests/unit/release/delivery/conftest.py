"""A stage on its way to an account in memory."""

import json
from pathlib import Path
from typing import cast

import boto3
import pytest

from release.delivery import archives, cdk, deployment, under_way
from release.delivery.assembly import Assembly
from release.delivery.deployment import Deployment
from release.delivery.stuck_rollback import StuckRollback
from tests.unit.release.delivery.fakes import (
    BEFORE,
    MODELS_STACK,
    NEW,
    OLD,
    Catalog,
    FakeAws,
    FakeCdk,
    endpoint_stack,
    moved_to,
)


@pytest.fixture
def aws() -> FakeAws:
    return FakeAws()


@pytest.fixture
def cli(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> FakeCdk:
    fake = FakeCdk(aws)
    monkeypatch.setattr(cdk, "deploy", fake.deploy)
    monkeypatch.setattr(cdk, "publish_assets", fake.publish_assets)
    monkeypatch.setattr(under_way, "POLL_SECONDS", 0)
    monkeypatch.setattr(deployment, "newest_events", lambda *_: {})
    monkeypatch.setattr(deployment, "reasons_since", lambda *_: ["models: no"])
    monkeypatch.setattr(
        deployment, "stuck_rollback", lambda *asked: StuckRollback(asked[2], [], None)
    )
    return fake


@pytest.fixture
def delivered(aws: FakeAws, tmp_path: Path) -> Deployment:
    for name in ("text", "vision"):
        path = tmp_path / f"prod-{name}.template.json"
        path.write_text(json.dumps(endpoint_stack(name)))
    (tmp_path / "prod-models.template.json").write_text(json.dumps(MODELS_STACK))
    budget = {"rows": {}, "build_minutes": 143}
    (tmp_path / "plan.json").write_text(json.dumps({"time_budget": budget}))
    return Deployment(Assembly(tmp_path, "prod"), cast(boto3.Session, aws))


@pytest.fixture
def moving(aws: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    """An endpoint that moves, of a stage that is deployed."""
    (tmp_path / "prod-models.template.json").write_text(json.dumps(MODELS_STACK))
    (tmp_path / "prod-text.template.json").write_text(json.dumps(moved_to(NEW)))
    monkeypatch.setattr(Deployment, "live", lambda *_: moved_to(OLD))
    monkeypatch.setattr(archives, "EndpointClient", Catalog)
    source = {"model": "before", "alternative": None}
    manifest = {"archive": {}, "digest": "d", "source": source}
    aws.manifest = json.dumps(manifest).encode()
    aws.objects = {f"{OLD}{BEFORE}".replace(".tar.gz", ".json"), "sources/d.zip"}
    return Deployment(Assembly(tmp_path, "prod"), cast(boto3.Session, aws))
