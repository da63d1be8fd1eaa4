"""Fixtures: a stage, and a fake account and cdk CLI."""

import json
from pathlib import Path
from typing import cast

import boto3
import pytest

from delivery import cdk, deploy, steps
from delivery.assembly import Assembly
from delivery.deploy import StageDeployment
from plan.catalog import Catalog, Entry, Revision
from tests.unit.delivery.fakes import (
    MODELS_STACK,
    NEW_PREFIX,
    OLD_ARCHIVE,
    OLD_PREFIX,
    FakeAws,
    FakeCdk,
    endpoint_stack,
    endpoint_with_prefix,
    stack_with_prefix,
)
from tests.unit.plan.plans import make_endpoint, make_model, make_plan

NAMES = "text", "vision"
PLAN = make_plan()


@pytest.fixture
def aws() -> FakeAws:
    return FakeAws()


@pytest.fixture
def cli(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> FakeCdk:
    fake = FakeCdk(aws)
    monkeypatch.setattr(cdk, "deploy", fake.deploy)
    monkeypatch.setattr(cdk, "publish_assets", fake.publish_assets)
    monkeypatch.setattr(steps, "POLL_SECONDS", 0)
    monkeypatch.setattr(
        deploy, "describe_stuck_rollback", lambda _, stack: f"{stack} is UPDATE_ROLLBACK_FAILED"
    )
    return fake


@pytest.fixture
def stage_deployment(aws: FakeAws, tmp_path: Path) -> StageDeployment:
    for name in NAMES:
        path = tmp_path / f"prod-{name}.template.json"
        path.write_text(json.dumps(endpoint_stack(name)))
    (tmp_path / "prod-models.template.json").write_text(json.dumps(MODELS_STACK))
    PLAN.write(tmp_path)
    return StageDeployment(Assembly(tmp_path, "prod"), cast(boto3.Session, aws))


@pytest.fixture
def archives_deployment(stage_deployment: StageDeployment) -> StageDeployment:
    """Return a deployment of two endpoints with an archive each."""
    endpoints = {
        name: make_endpoint(
            f"prod-{name}", models={"model": make_model("model", prefix=f"{name}/cpu-25.09/")}
        )
        for name in NAMES
    }
    make_plan(endpoints=endpoints).write(stage_deployment.assembly.folder)
    return stage_deployment


@pytest.fixture
def moving_deployment(
    aws: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> StageDeployment:
    """Return a deployment whose endpoint moves from `OLD_PREFIX` to `NEW_PREFIX`."""
    (tmp_path / "prod-models.template.json").write_text(json.dumps(MODELS_STACK))
    (tmp_path / "prod-text.template.json").write_text(json.dumps(stack_with_prefix(NEW_PREFIX)))
    make_plan(endpoints={"text": endpoint_with_prefix(NEW_PREFIX)}).write(tmp_path)
    monkeypatch.setattr(StageDeployment, "live_template", lambda *_: stack_with_prefix(OLD_PREFIX))
    entries: dict[str, Entry] = {
        "before": {"target_model": OLD_ARCHIVE},
        "single": {"target_model": None},
        "broken": {},
    }
    revisions = {name: Revision("text", name, 1, entry) for name, entry in entries.items()}
    monkeypatch.setattr(Catalog, "current", lambda _: revisions)
    source = {"model": "before", "alternative": None}
    manifest = {"archive": {"checksum": ""}, "digest": "d", "source": source}
    aws.manifest = json.dumps(manifest).encode()
    aws.objects = {f"{OLD_PREFIX}{OLD_ARCHIVE}".replace(".tar.gz", ".json"), "sources/d.zip"}
    return StageDeployment(Assembly(tmp_path, "prod"), cast(boto3.Session, aws))
