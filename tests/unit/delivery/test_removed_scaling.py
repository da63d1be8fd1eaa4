"""Tests of deploys that remove the scaling of a variant, and of the templates without it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from delivery import cdk, deploy
from delivery.assembly import Assembly
from delivery.deploy import StageDeployment, removed_scaling, without_scaling
from delivery.errors import FaultyDeployment, Unfinished
from plan.document import ENDPOINT_KEY, EndpointSettings, HostingName, PlannedPool
from release.templates import Template
from tests.unit.delivery.fakes import FakeAws, FakeCdk
from tests.unit.plan.plans import make_endpoint, make_plan, make_variant

VARIANT = "endpoint/prod-text/variant/"


def settings(
    hosting: HostingName = "single-model", scaled: tuple[str, ...] = (), **types: str
) -> EndpointSettings:
    """Return an endpoint; `types` maps variants to instance types."""
    variants = {
        name: make_variant(
            pools=tuple(
                PlannedPool(instance_type=kind, prefix="text/cpu/", target="cpu")
                for kind in instance_type.split(",")
            ),
            is_scaled=name in scaled,
        )
        for name, instance_type in types.items()
    }
    return make_endpoint(variants=variants, hosting=hosting).settings


def template(*, scaled: tuple[str, ...] = (), **types: str) -> Template:
    """Return the template of such an endpoint, with the scaling of its variants."""
    stack_resources: dict[str, Any] = {"Config": {"Type": "AWS::SageMaker::EndpointConfig"}}
    for name in scaled:
        stack_resources[f"{name}Target"] = {
            "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
            "Properties": {"ResourceId": f"{VARIANT}{name}", "MinCapacity": 1, "MaxCapacity": 2},
        }
        stack_resources[f"{name}Policy"] = {
            "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
            "Properties": {"ScalingTargetId": {"Ref": f"{name}Target"}},
        }
    part = settings("single-model", scaled, **types).metadata()
    return {"Metadata": {ENDPOINT_KEY: part}, "Resources": stack_resources}


@pytest.mark.parametrize(
    ("new", "variants"),
    [
        (settings(A="g5", B="g5"), []),
        (settings(A="g6", B="g5"), ["A"]),
        (settings(A="g5", B="g6"), []),  # B is not scaled
        (settings(A="g6,g5", B="g5"), []),  # several types may stay registered
        (settings(B="g5"), []),  # SageMaker refuses this update in any case
        (settings(A="g6"), []),  # refused too
        (settings("multi-model", A="g6", B="g5"), []),  # refused too
        (settings(A="g5", B="g5", C="g6", scaled=("C",)), []),
    ],
)
def test_scaling_is_removed_for_a_new_instance_type(
    new: EndpointSettings, variants: list[str]
) -> None:
    removed = removed_scaling(new, template(A="g5", B="g5", scaled=("A",)))
    assert (list(removed.variants) if removed else []) == variants


def test_removed_scaling_is_not_removed_again() -> None:
    """After an interruption between the two deploys, the next delivery deploys once."""
    live = without_scaling(template(A="g5", scaled=("A",)), ["A"])
    assert removed_scaling(settings(A="g6", scaled=("A",)), live) is None


def test_scaling_is_removed_with_dependencies_on_it() -> None:
    live = template(A="g5", B="g5", scaled=("A", "B"))
    live["Resources"]["Entry"] = {"DependsOn": ["ATarget", "APolicy", "BTarget"], "Type": "T"}
    live["Resources"]["Other"] = {"DependsOn": "ATarget", "Type": "T"}
    before = json.dumps(live)
    expected = template(A="g5", B="g5", scaled=("B",)) | {"Metadata": live["Metadata"]}
    expected["Resources"]["Entry"] = {"DependsOn": ["BTarget"], "Type": "T"}
    expected["Resources"]["Other"] = {"Type": "T"}
    assert without_scaling(live, ["A"]) == expected
    assert json.dumps(live) == before


WARNING = (
    "prod-text: variant A may run without scaling, with its current number of instances, until the "
    "stage is delivered again"
)


@pytest.fixture
def scaled_deployment(
    aws: FakeAws, cli: FakeCdk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> StageDeployment:
    """Return a deployment that changes the instance type of a scaled variant."""

    @contextmanager
    def with_template(_: Assembly, stack: str, new: Template) -> Iterator[Path]:
        (tmp_path / "copy").mkdir(exist_ok=True)
        (tmp_path / "copy" / f"{stack}.template.json").write_text(json.dumps(new))
        yield tmp_path / "copy"

    monkeypatch.setattr(Assembly, "with_template", with_template)
    aws.template = template(A="g5", scaled=("A",))
    new = json.dumps(template(A="g6", scaled=("A",)))
    (tmp_path / "prod-text.template.json").write_text(new)
    variants = settings(A="g6", scaled=("A",)).variants
    endpoint = make_endpoint(variants=variants, hosting="single-model")
    make_plan(endpoints={"text": endpoint}).write(tmp_path)
    return StageDeployment(Assembly(tmp_path, "prod"), cast(boto3.Session, aws))


def test_failed_restoring_of_scaling_is_a_faulty_deployment(
    cli: FakeCdk, scaled_deployment: StageDeployment
) -> None:
    cli.failing_deploys = {2, 3}
    with pytest.raises(FaultyDeployment) as failed:
        deploy.deploy(scaled_deployment)
    assert str(failed.value).splitlines()[-1].strip() == WARNING


@pytest.mark.parametrize(
    ("module", "function", "failing_deploys", "error"),
    [
        (StageDeployment, "live_template", set(), KeyboardInterrupt()),
        (*(cdk, "deploy", set()),
         ClientError({"Error": {"Code": "ExpiredTokenException"}}, "DescribeEndpoint")),
        (deploy, "stack_template", {2}, NoCredentialsError()),
    ],
    ids=["interrupted between deploys", "expired in second deploy", "no credentials to restore"],
)  # fmt: skip
def test_error_after_the_first_deploy_is_unfinished(
    cli: FakeCdk,
    scaled_deployment: StageDeployment,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    function: str,
    failing_deploys: set[int],
    error: BaseException,
) -> None:
    original = getattr(module, function)

    def fail_after_first_deploy(*arguments: Any, **options: Any) -> Any:
        if cli.runs:
            raise error
        return original(*arguments, **options)

    endpoint = scaled_deployment.assembly.endpoints["text"]
    endpoints = {"text": endpoint} if failing_deploys else {"text": endpoint, "twice": endpoint}
    monkeypatch.setitem(vars(scaled_deployment.assembly), "endpoints", endpoints)
    monkeypatch.setattr(module, function, fail_after_first_deploy)
    cli.failing_deploys = failing_deploys
    with pytest.raises(Unfinished) as failed:
        deploy.deploy(scaled_deployment)
    assert WARNING in str(failed.value)
