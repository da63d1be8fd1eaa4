"""Tests of the proposals of other instance types if AWS has no capacity."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from release.preflight.capacity_errors import advice
from release.tree import Tree
from tests.unit.release.preflight.conftest import REGION, Aws, denied, quotas

REASON = (
    "Unable to provision requested ML compute capacity due to InsufficientInstanceCapacity error. "
    "Please retry using a different ML instance type or after some time. Consider configuring "
    "InstancePools in your EndpointConfig with multiple instance types for priority-based fallback "
    "to improve capacity availability."
)
"""FailureReason, verbatim in aws/deep-learning-containers, tests of SageMaker endpoints."""
FAILED = f"prod-text, Endpoint8024A810: Resource handler returned message: {REASON}"
STAGE = """\
region: us-east-1
endpoints:
  images: {}
  text:
    variants:
      A: {}
      B: {}
"""


def variant(*types: str, target: str = "cuda-25.09-sm89") -> dict[str, Any]:
    return {"pools": [{"instance_type": name, "target": target, "prefix": ""} for name in types]}


def endpoint(
    *types: str, hosting: str = "single-model", engines: bool = True, **variants: Any
) -> dict[str, Any]:
    return {
        "name": "prod-text",
        "hosting": hosting,
        "variants": variants or {"AllTraffic": variant(*types)},
        "engines": {"text/cuda-25.09-sm89/m.tar.gz": ["m/1/model.plan"] if engines else []},
    }


@pytest.fixture
def fixes(aws: Aws, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Return a function that returns the proposals for an endpoint; `values` are quotas."""
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages/prod.yaml").write_text(STAGE)

    def proposals(
        text: dict[str, Any], message: str = FAILED, region: str = REGION, **values: int
    ) -> list[str]:
        names = {
            f"ml.{name.replace('_', '.')} for endpoint usage": value
            for name, value in values.items()
        }
        aws.answers.setdefault("service-quotas.ListServiceQuotas", quotas(**names))
        aws.answers["service-quotas.ListAWSDefaultServiceQuotas"] = quotas()
        images = {**endpoint("ml.g5.xlarge"), "name": "prod-images"}
        plan = {"stage": "prod", "endpoints": {"images": images, "text": text}}
        session: Any = SimpleNamespace(region_name=region, client=aws.session.client)
        return list(advice(message, plan, Tree(tmp_path), session))

    return proposals


def test_proposal_has_the_most_similar_types_with_a_quota(fixes: Any) -> None:
    g6 = {"g5_xlarge": 4, "g5_2xlarge": 0, "g6_2xlarge": 2, "g6_4xlarge": 9, "m5_xlarge": 9}
    assert fixes(endpoint("ml.g6.xlarge"), **g6) == [
        "stages/prod.yaml:4: endpoints.text: no capacity in us-east-1 for ml.g6.xlarge: write "
        "instance_types: [ml.g6.xlarge, ml.g5.xlarge, ml.g6.2xlarge]. Suitable types: "
        "ml.g5.xlarge (another archive, quota 4), ml.g6.2xlarge (the same archive, quota 2), "
        "ml.g6.4xlarge (the same archive, quota 9)"
    ]


def test_endpoint_name_precedes_the_reason_in_wrapped_lines(fixes: Any) -> None:
    """Output of aws-cdk 2.1148.1 for two stacks that failed."""
    other = "❌  prod-images failed to deploy\n  prod-images/Endpoint: wrong\n"
    wrapped = REASON.replace("due to ", "due to\n    ")
    own = f"❌  prod-text failed to deploy\n  prod-text/Endpoint/Endpoint:\n    {wrapped}"
    (fix,) = fixes(endpoint("ml.g6.xlarge"), other + own, g5_xlarge=4)
    assert fix.startswith("stages/prod.yaml:4: endpoints.text: ")


def test_pool_gets_more_types(fixes: Any) -> None:
    (fix,) = fixes(endpoint("ml.g6.xlarge", "ml.g5.xlarge"), g6_2xlarge=2, g5_xlarge=4)
    assert "no capacity in us-east-1 for ml.g6.xlarge or ml.g5.xlarge: write " in fix
    assert "instance_types: [ml.g6.xlarge, ml.g5.xlarge, ml.g6.2xlarge]" in fix


def test_full_pool_loses_its_least_preferred_types(fixes: Any) -> None:
    sizes = [f"ml.g6.{size}" for size in ("xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge")]
    (fix,) = fixes(endpoint(*sizes), g5_xlarge=1)
    assert f"write instance_types: [{', '.join(sizes[:4])}, ml.g5.xlarge]." in fix


@pytest.mark.parametrize(
    ("hosting", "region"), [("multi-model", "us-east-1"), ("single-model", "eu-west-3")]
)
def test_endpoint_without_pools_gets_another_type(fixes: Any, hosting: str, region: str) -> None:
    """AWS documents instance pools only for single-model endpoints, and not in every region."""
    (fix,) = fixes(endpoint("ml.g6.xlarge", hosting=hosting), region=region, g5_xlarge=4)
    assert f"no capacity in {region} for ml.g6.xlarge: write instance_type: ml.g5.xlarge." in fix


def test_each_variant_gets_its_own_type(fixes: Any) -> None:
    variants: dict[str, Any] = {
        "A": variant("ml.g6.xlarge"),
        "B": variant("ml.g5.xlarge", target="cuda-25.09-sm86"),
    }
    first, second = fixes(endpoint(**variants), g6_2xlarge=2)
    assert first.startswith("stages/prod.yaml:6: endpoints.text.variants.A: ")
    assert second.startswith("stages/prod.yaml:7: endpoints.text.variants.B: ")
    assert "write instance_type: ml.g6.2xlarge" in first


@pytest.mark.parametrize(("engines", "is_suitable"), [(True, False), (False, True)])
def test_engines_need_a_hardware_compatible_gpu(
    fixes: Any, *, engines: bool, is_suitable: bool
) -> None:
    """The T4 of ml.g4dn has capability 7.5; AMPERE_PLUS engines need 8.0."""
    (fix,) = fixes(endpoint("ml.g5.xlarge", engines=engines), g4dn_xlarge=4)
    assert ("write instance_types: [ml.g5.xlarge, ml.g4dn.xlarge]" in fix) is is_suitable


def test_multi_model_endpoint_of_an_old_release_gets_its_gpu(fixes: Any) -> None:
    old = variant("ml.g5.xlarge", target="cuda-22.12-sm86")
    text = endpoint(hosting="multi-model", engines=False, AllTraffic=old)
    (fix,) = fixes(text, g5_2xlarge=1, g4dn_xlarge=1, g4dn_2xlarge=1)
    assert "write instance_type: ml.g4dn.xlarge. Suitable types: " in fix


def test_newer_gpus_come_first_among_types_of_one_size(fixes: Any) -> None:
    (fix,) = fixes(endpoint("ml.g6.xlarge", engines=False), g4dn_xlarge=1, g5_xlarge=1)
    assert "write instance_types: [ml.g6.xlarge, ml.g5.xlarge, ml.g4dn.xlarge]" in fix


def test_without_a_suitable_type_the_fix_is_to_wait(fixes: Any) -> None:
    old = variant("ml.g5.xlarge", target="cuda-22.07-sm86")
    (fix,) = fixes(endpoint(AllTraffic=old))
    assert fix.endswith("ml.g5.xlarge, and no other type fits: deploy again later")


def test_quota_is_requested_for_suitable_types(fixes: Any) -> None:
    (fix,) = fixes(endpoint("ml.g6.xlarge"), g5_xlarge=0)
    assert (
        "and no quota for a suitable type: request a quota for one of ml.g6e.xlarge, ml.g5.xlarge, "
        in fix
    )


def test_unreadable_quotas_are_reported(fixes: Any, aws: Aws) -> None:
    aws.answers["service-quotas.ListServiceQuotas"] = denied("servicequotas:ListServiceQuotas")
    (fix,) = fixes(endpoint("ml.g6.xlarge"))
    assert "write instance_types: [ml.g6.xlarge, ml.g6e.xlarge, ml.g5.xlarge]. " in fix
    assert "; their quotas are unknown: no permission (servicequotas:ListServiceQuotas)" in fix


def test_error_may_name_the_stack_or_the_endpoint(fixes: Any) -> None:
    text = {**endpoint("ml.g6.xlarge", hosting="components"), "name": "prod-text-g6-xlarge"}
    for name in ("prod-text", "prod-text-g6-xlarge"):
        (fix,) = fixes(text, f"{name}, Endpoint8024A810: {REASON}", g5_xlarge=4)
        assert "write instance_type: ml.g5.xlarge" in fix


@pytest.mark.parametrize(
    "message",
    [
        "prod-text, Endpoint8024A810: did not pass the ping health check",
        f"prod-text-2, Endpoint8024A810: {REASON}",
    ],
)
def test_other_error_or_endpoint_has_no_proposal(fixes: Any, aws: Aws, message: str) -> None:
    assert fixes(endpoint("ml.g6.xlarge"), message) == []
    assert aws.sent_requests == []
