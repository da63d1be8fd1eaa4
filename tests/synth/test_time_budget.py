"""The time budget of a delivery compared with the timeouts of templates, workflow and code."""

from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import yaml
from aws_cdk import App
from aws_cdk.cx_api import CloudAssembly

from delivery import smoke, verify
from endpoint_client import EndpointClient
from endpoint_client._client import ATTEMPT_SECONDS
from plan.document import Plan, TimeBudget
from platform_facts.rules import checked_yaml
from platform_facts.rules.updates import PROVISIONING_SECONDS
from stacks import stage_stacks, synthesise
from stages import StageConfig, load_stage, stage_names, time_budget
from stages.time_budget import JOB_MINUTES
from tests.synth.conftest import CONTEXT, ROOT, assembly_of, templates_in
from tests.synth.endpoints import properties_of
from tests.synth.every_stage import EVERY_STAGE
from triton_sagemaker.build_handler import index

CREATE_MINUTES, UPDATE_MINUTES = 160, 970
"""`timeoutInMinutes` of CloudFormation's handlers, in the schema of AWS::SageMaker::Endpoint
(pulumi/pulumi-aws-native, aws-cloudformation-schema/aws-sagemaker-endpoint.json)."""
UPDATE = "update of its endpoint"
"""The row of the update in the budget."""
CUSTOM_RESOURCE_MINUTES = 60
"""CloudFormation template reference, AWS::CloudFormation::CustomResource, ServiceTimeout."""

Templates = dict[str, dict[str, Any]]


def prod_with(scaling: dict[str, Any] | None = None, **update: Any) -> StageConfig:
    """Return prod with endpoints of one variant and these update and scaling settings."""
    content = load_stage("prod").model_dump(exclude_none=True)
    for endpoint in content["endpoints"].values():
        endpoint.update(update=update, scaling=scaling, variants={"AllTraffic": {}})
    return StageConfig.model_validate(content)


def synthesised(
    stage: StageConfig, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Templates, TimeBudget]:
    """Return templates by stack, and the budget as a delivery reads it."""
    monkeypatch.setattr(stage_stacks, "load_stage", lambda *_: stage)
    return read(synthesise(App(context=CONTEXT, outdir=str(folder)), "prod"))


def read(assembly: CloudAssembly) -> tuple[Templates, TimeBudget]:
    """Return a stage's templates by stack, and the budget as a delivery reads it."""
    budget = Plan.read(Path(assembly.directory)).time_budget
    return templates_in(assembly), budget


def resources(templates: Templates, kind: str, *, minimum: int = 1) -> list[dict[str, Any]]:
    result = [each for template in templates.values() for each in properties_of(template, kind)]
    assert len(result) >= minimum
    return result


def update_seconds(templates: Templates, policy: str = "BlueGreenUpdatePolicy") -> list[int]:
    """Return the update timeouts of endpoints and components with this policy."""
    return [
        resource["DeploymentConfig"][policy]["MaximumExecutionTimeoutInSeconds"]
        for kind in ("Endpoint", "InferenceComponent")
        for resource in resources(templates, f"AWS::SageMaker::{kind}", minimum=0)
        if policy in resource.get("DeploymentConfig", {})
    ]


def start_seconds(templates: Templates) -> int:
    """Return the longest start of instances, from the timeouts of configurations."""
    return PROVISIONING_SECONDS + max(
        int(variant["ContainerStartupHealthCheckTimeoutInSeconds"])
        + int(variant["ModelDataDownloadTimeoutInSeconds"])
        for config in resources(templates, "AWS::SageMaker::EndpointConfig")
        for variant in config["ProductionVariants"]
    )


def check(templates: Templates, budget: TimeBudget) -> None:
    """Assert that each step ends before its timeouts.

    The timeout of a rolling update does not depend on the instance count.
    """
    updates, start = update_seconds(templates), start_seconds(templates)
    rolling = update_seconds(templates, "RollingUpdatePolicy")
    assert all(start < seconds <= 28_800 for seconds in updates + rolling)
    assert start / 60 < CREATE_MINUTES
    assert max(updates + rolling) / 60 < UPDATE_MINUTES
    assert budget.rows[UPDATE] >= max(updates, default=start) / 60
    needed = 2 * budget.rows[UPDATE] + budget.build_minutes
    assert needed < sum(budget.rows.values()) <= JOB_MINUTES
    (project,) = (
        resource
        for resource in resources(templates, "AWS::CodeBuild::Project")
        if resource["Environment"]["Type"] == "LINUX_CONTAINER"
    )
    assert budget.build_minutes + index.GRACE_SECONDS / 60 < project["TimeoutInMinutes"]
    for build in resources(templates, "Custom::TritonModels"):
        assert int(build["WaitMinutes"]) <= budget.build_minutes
        assert int(build["WaitMinutes"]) + index.GRACE_SECONDS / 60 < CUSTOM_RESOURCE_MINUTES


@pytest.mark.parametrize("name", [*stage_names(), *EVERY_STAGE])
def test_stage_fits_the_job_timeout(name: str) -> None:
    check(*read(assembly_of(name)))


def test_update_longer_than_the_job_timeout_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Seven batches: 25 % of seven instances is one.
    update: dict[str, Any] = {"strategy": "rolling", "percent": 25, "wait_seconds": 600}
    scaling = {"min_count": 2, "max_count": 10, "gpu_percent": 70}
    line = checked_yaml.line_of(ROOT / "stages/prod.yaml", "endpoints", "text", "update")
    message = f":{line}: endpoints.text.update: an update takes up to 350 minutes, .* limit is 106,"
    with pytest.raises(checked_yaml.InvalidFile, match=message):
        synthesised(prod_with(scaling, **update), tmp_path, monkeypatch)


def test_longest_allowed_update_fits_the_job_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 40 minutes to start, 2 x 30.5 to wait, 5 to keep the old instances.
    update: dict[str, Any] = {"strategy": "linear", "percent": 40, "wait_seconds": 1830}
    templates, budget = synthesised(prod_with(**update), tmp_path, monkeypatch)
    check(templates, budget)
    assert update_seconds(templates) == 3 * [106 * 60]
    assert budget.build_minutes == 51


def test_role_session_and_job_timeout_are_equal() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/deploy.yml").read_text())["jobs"]
    for stage in ("dev", "prod"):
        job = jobs[stage]
        (session,) = (
            step["with"]["role-duration-seconds"]
            for step in job["steps"]
            if step.get("uses", "").startswith("aws-actions/configure-aws-credentials@")
        )
        assert job["timeout-minutes"] == session / 60 == JOB_MINUTES


def test_client_timeouts_match_the_time_budget() -> None:
    assert verify.VERIFY_SECONDS / 60 == time_budget.VERIFY_MINUTES
    attempts = signature(EndpointClient).parameters["max_attempts"].default
    waits = sum(2**attempt for attempt in range(attempts - 1))
    assert (attempts * ATTEMPT_SECONDS + waits) / 60 <= time_budget.ANSWER_MINUTES
    assert smoke.ANSWER_SECONDS / 60 == time_budget.ANSWER_MINUTES
    assert index.GRACE_SECONDS / 60 < time_budget.BUILD_END_MINUTES
