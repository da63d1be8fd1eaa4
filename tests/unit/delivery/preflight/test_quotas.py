"""Tests of the comparison of a deploy's peak with quotas on instances and builds."""

from typing import Any

import pytest

from delivery.preflight.account import Account, CheckFinding, Verdict
from delivery.preflight.quotas import check_instances
from plan.document import Limits, PlannedPool
from tests.unit.delivery.preflight.conftest import Aws, quotas, run_endpoints
from tests.unit.plan.plans import make_endpoint, make_plan, make_variant

OK, REFUSED, UNKNOWN = Verdict.OK, Verdict.REFUSED, Verdict.UNKNOWN
G5, G6 = "ml.g5.xlarge for endpoint usage", "ml.g6.xlarge for endpoint usage"
ALL = "Number of instances across active endpoints"


def endpoint(
    count: int = 2, max_capacity: int = 2, types: tuple[str, ...] = ("ml.g5.xlarge",)
) -> Any:
    """Return the plan of a stage with the endpoint prod-text."""
    variant = make_variant(
        pools=tuple(
            PlannedPool(instance_type=name, prefix="text/", target="cuda") for name in types
        ),
        initial_count=count,
        instances=Limits(minimum=1, maximum=max_capacity),
    )
    return make_plan(endpoints={"text": make_endpoint(variants={"AllTraffic": variant})})


def set_quotas(
    aws: Aws, applied: dict[str, float], default: dict[str, float] | None = None
) -> None:
    aws.answers["service-quotas.ListServiceQuotas"] = quotas(**applied)
    aws.answers["service-quotas.ListAWSDefaultServiceQuotas"] = quotas(**(default or {}))


def instance_findings(aws: Aws, account: Account, **values: float) -> dict[str, CheckFinding]:
    """Return the findings about instances by their quota."""
    set_quotas(aws, {G5: 99, G6: 99, ALL: 99, **values})
    return {finding.subject: finding for finding in check_instances(account)}


def test_new_endpoint_needs_its_instances(aws: Aws) -> None:
    run_endpoints(aws, other_team=("ml.g5.xlarge", 3))
    account = aws.account(plan=endpoint(count=2, max_capacity=10))
    finding = instance_findings(aws, account, **{G5: 4})[G5]
    assert finding.verdict is REFUSED
    assert finding.message == (
        "quota 4; 3 run, this deploy starts 2, updates and scaling up to 13 in all"
    )
    assert finding.fix.endswith("--quota-code L-0 --desired-value 13")


def test_all_instances_count_for_each_type_of_a_pool(aws: Aws) -> None:
    run_endpoints(aws)
    plan = endpoint(count=2, max_capacity=4, types=("ml.g6.xlarge", "ml.g5.xlarge"))
    findings = instance_findings(aws, aws.account(plan=plan))
    assert findings.keys() == {G5, G6, ALL}
    for finding in findings.values():
        assert finding.message.endswith("starts 2, updates and scaling up to 4 in all")


def test_running_endpoint_is_not_refused(aws: Aws) -> None:
    """SageMaker refuses an update beyond the quota, and then changes nothing."""
    run_endpoints(aws, prod_text=("ml.g5.xlarge", 7))
    finding = instance_findings(aws, aws.account(plan=endpoint()), **{G5: 1})[G5]
    assert finding.verdict is OK
    assert "7 run, this deploy starts 0, updates and scaling up to 14 in all" in finding.message
    assert finding.fix.endswith("--desired-value 14")


@pytest.mark.parametrize(
    ("applied", "default", "verdicts", "desired"),
    [
        ({G5: 1, ALL: 20}, {}, (REFUSED, OK), 6),
        ({G5: 4, ALL: 40}, {}, (OK, OK), 6),
        ({G5: 6, ALL: 1}, {}, (OK, REFUSED), None),
        # The account may have more than the default.
        ({ALL: 20}, {G5: 0, ALL: 4}, (UNKNOWN, OK), 6),
        ({ALL: 20}, {}, (UNKNOWN, OK), None),
    ],
    ids=["below the need", "below the maximum", "all types", "AWS default", "missing quota"],
)
def test_quotas_are_compared_with_the_need(
    aws: Aws,
    applied: dict[str, float],
    default: dict[str, float],
    verdicts: tuple[Verdict, Verdict],
    desired: int | None,
) -> None:
    run_endpoints(aws)
    set_quotas(aws, applied, default)
    account = aws.account(plan=endpoint(count=2, max_capacity=6))
    findings = {finding.subject: finding for finding in check_instances(account)}
    assert (findings[G5].verdict, findings[ALL].verdict) == verdicts
    command = (
        "aws service-quotas request-service-quota-increase --service-code sagemaker "
        f"--quota-code L-0 --desired-value {desired}"
    )
    assert findings[G5].fix == (command if desired else "")


def test_instances_of_failed_endpoints_are_not_counted(aws: Aws) -> None:
    run_endpoints(aws, failed=("ml.g5.xlarge", 3))
    describe: Any = aws.answers["sagemaker.DescribeEndpoint"]
    failed = {"EndpointStatus": "Failed"}
    aws.answers["sagemaker.DescribeEndpoint"] = lambda request: describe(request) | failed
    finding = instance_findings(aws, aws.account(plan=endpoint(count=1)))[G5]
    assert "0 run" in finding.message
