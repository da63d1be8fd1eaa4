"""Tests of the verification of a deployed stage."""

import copy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import EndpointConnectionError

from delivery import smoke
from delivery.deploy import StageDeployment
from delivery.errors import FaultyDeployment, RollbackFailed, Unfinished
from delivery.verify import VERIFY_SECONDS, _refuse_other_templates, verify
from endpoint_client import EndpointError
from plan.document import Limits, PlannedComponent
from tests.unit.delivery.fakes import EXPIRED, FakeAws
from tests.unit.model_build.fakes import client_error
from tests.unit.plan.plans import make_endpoint, make_plan


@pytest.fixture(autouse=True)
def live_templates(
    stage_deployment: StageDeployment, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Return stack name -> deployed template: that of the release."""
    templates = copy.deepcopy(dict(stage_deployment.assembly.templates))

    def get_template(_: FakeAws, *, StackName: str, **__: str) -> dict[str, Any]:  # noqa: N803
        return {"TemplateBody": templates[StackName]}

    monkeypatch.setattr(FakeAws, "get_template", get_template)
    return templates


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (EXPIRED, Unfinished),
        (KeyboardInterrupt(), Unfinished),
        (EndpointConnectionError(endpoint_url="sagemaker"), Unfinished),
        (EndpointError("the catalog is empty"), FaultyDeployment),
        (client_error("InvokeEndpoint", "ThrottlingException"), Unfinished),
    ],
    ids=["expired", "interrupted", "no network", "empty catalog", "throttled"],
)
def test_error_during_verification(
    error: BaseException,
    expected: type[Exception],
    stage_deployment: StageDeployment,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(smoke, "invoke_all", Mock(side_effect=error))
    with pytest.raises(expected, match="deployed"):
        verify(stage_deployment, Path("models"))


def test_stack_in_a_failed_state_is_an_error(
    aws: FakeAws, stage_deployment: StageDeployment
) -> None:
    """The cdk CLI skips a stack that already has the new template, in any status."""
    aws.statuses = ["UPDATE_COMPLETE"] * len(stage_deployment.assembly.templates) + [
        "UPDATE_FAILED"
    ]
    command = "aws cloudformation describe-stack-events --stack-name prod-"
    with pytest.raises(RollbackFailed, match=f"is UPDATE_FAILED: {command}"):
        verify(stage_deployment, Path("models"))


def test_copies_with_longer_timeouts_may_wake_for_longer(
    stage_deployment: StageDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    invoke_all = Mock(side_effect=EndpointError("no"))
    monkeypatch.setattr(smoke, "invoke_all", invoke_all)
    for step in ("endpoint_fault", "restore_catalog_after_deploy"):
        monkeypatch.setattr(f"delivery.verify.{step}", lambda *_, **__: None)
    component = PlannedComponent(
        name="a", copies=Limits(minimum=0, maximum=1), initial_count=1, memory_mb=1
    )
    settings = {"download_timeout_minutes": 15, "startup_timeout_minutes": 25}
    endpoint = make_endpoint("prod-text", components={"a": component}, settings=settings)
    make_plan(endpoints={"text": endpoint}).write(stage_deployment.assembly.folder)
    with pytest.raises(FaultyDeployment):
        verify(stage_deployment, Path("models"))
    options = invoke_all.call_args.kwargs
    assert options["wake_seconds"] == smoke.WAKE_SECONDS + 1200
    assert options["deadline"] > time.monotonic() + VERIFY_SECONDS


def grant_everything(template: dict[str, Any]) -> dict[str, Any]:
    user = {"Type": "AWS::IAM::User", "Properties": {}}
    return {**template, "Resources": {**template["Resources"], "Admin": user}}


@pytest.mark.parametrize(
    "replace",
    [grant_everything, lambda _: {}, lambda _: "Resources: {}"],
    ids=["more", "{}", "YAML"],
)
def test_replaced_template_in_the_bucket_of_assets_is_a_fault(
    stage_deployment: StageDeployment,
    live_templates: dict[str, Any],
    replace: Callable[[dict[str, Any]], Any],
) -> None:
    """The cdk CLI uploads no template whose key, its SHA-256, exists in the bucket."""
    live_templates["prod-text"] = replace(live_templates["prod-text"])
    with pytest.raises(FaultyDeployment, match="prod-text: the deployed template is"):
        verify(stage_deployment, Path("models"))


def test_ignored_attribute_is_no_fault(
    stage_deployment: StageDeployment, live_templates: dict[str, Any]
) -> None:
    live_templates["prod-text"]["Metadata"] = {"a": "b"}
    for resource in live_templates["prod-text"]["Resources"].values():
        resource["DeletionPolicy"] = "Retain"
    _refuse_other_templates(stage_deployment)
