"""Tests of the comparison of a deploy's peak with quotas on instances and builds."""

import json
from typing import Any

import pytest

from release.plan import PLAN
from release.preflight.findings import Verdict
from release.preflight.fleets import peaks
from release.preflight.quotas import check_builds, check_instances
from tests.unit.release.preflight.conftest import (
    Aws,
    MakeAccount,
    denied,
    endpoint_stack,
    error,
    not_deployed,
    quotas,
    resources,
    run_endpoints,
    template,
)

OK, REFUSED, UNKNOWN = Verdict.OK, Verdict.REFUSED, Verdict.UNKNOWN
G5 = "ml.g5.xlarge for endpoint usage"
ALL = "Number of instances across active endpoints"


def set_quotas(
    aws: Aws, applied: dict[str, float], default: dict[str, float] | None = None
) -> None:
    aws.answers["service-quotas.ListServiceQuotas"] = quotas(**applied)
    aws.answers["service-quotas.ListAWSDefaultServiceQuotas"] = quotas(**(default or {}))


def deploy_stacks(aws: Aws, before: dict[str, Any] | None) -> None:
    """Deploy every stack with these resources; with None, no stack."""
    if before is None:
        aws.answers["cloudformation.ListStackResources"] = not_deployed()
        return
    aws.answers["cloudformation.ListStackResources"] = resources(Endpoint="prod-text")
    aws.answers["cloudformation.GetTemplate"] = {"TemplateBody": json.dumps(template(before))}


def test_new_endpoint_adds_its_instances(make_account: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws, other_team=("ml.g5.xlarge", 3))
    deploy_stacks(aws, None)
    peak = peaks(make_account(prod_text=endpoint_stack(count=2, max_capacity=10)))["ml.g5.xlarge"]
    assert (peak.running, peak.needed, peak.maximum) == (3, 5, 13)


def test_all_instances_count_for_each_type_of_a_pool(make_account: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws)
    deploy_stacks(aws, None)
    stack = endpoint_stack(count=2, max_capacity=4)
    (variant,) = stack["Config"][1]["ProductionVariants"]
    del variant["InstanceType"]
    variant["InstancePools"] = [
        {"InstanceType": "ml.g5.xlarge", "Priority": 2},
        {"InstanceType": "ml.g6.xlarge", "Priority": 1},
    ]
    account = make_account(prod_text=stack)
    by_type = peaks(account)
    assert {name: (peak.needed, peak.maximum) for name, peak in by_type.items()} == {
        "ml.g5.xlarge": (2, 4),
        "ml.g6.xlarge": (2, 4),
    }
    assert list(peaks(account, only_preferred=True)) == ["ml.g6.xlarge"]


def test_scheduled_action_can_raise_the_maximum(make_account: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws)
    deploy_stacks(aws, None)
    stack = endpoint_stack(count=2, max_capacity=4)
    launch = {"ScheduledActionName": "launch", "ScalableTargetAction": {"MaxCapacity": 9}}
    stack["Target"][1]["ScheduledActions"] = [launch]
    assert peaks(make_account(prod_text=stack))["ml.g5.xlarge"].maximum == 9


TAGS = [{"Key": "team", "Value": "search"}]
UNCHANGED = endpoint_stack(image="old")
TAGGED = {name: (kind, {**rest, "Tags": TAGS}) for name, (kind, rest) in UNCHANGED.items()}


@pytest.mark.parametrize(
    ("new_stack", "needed"),
    [
        ({**UNCHANGED, "Other": ("AWS::SSM::Parameter", {"Name": "x"})}, 7),
        (TAGGED, 7),
        (endpoint_stack(), 14),
        (endpoint_stack(retain=False), 7 + 2),
        (endpoint_stack(rolling={"Type": "INSTANCE_COUNT", "Value": 2}), 7 + 2),
        (endpoint_stack(rolling={"Type": "INSTANCE_COUNT", "Value": 50}), 14),
        (endpoint_stack(rolling={"Type": "CAPACITY_PERCENT", "Value": 50}), 7 + 3),
        (endpoint_stack(rolling={"Type": "CAPACITY_PERCENT", "Value": 10}), 7 + 1),
    ],
    ids=["other resource", "tags", "blue/green", "count of the template", *map(str, range(4))],
)
def test_update_adds_instances(
    make_account: MakeAccount, aws: Aws, new_stack: dict[str, Any], needed: int
) -> None:
    run_endpoints(aws, prod_text=("ml.g5.xlarge", 7))
    deploy_stacks(aws, UNCHANGED)
    peak = peaks(make_account(prod_text=new_stack))["ml.g5.xlarge"]
    assert (peak.running, peak.needed) == (7, needed)


def test_all_endpoints_are_updated_in_parallel(make_account: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws, prod_text=("ml.g5.xlarge", 4), prod_vision=("ml.g5.xlarge", 3))
    deploy_stacks(aws, endpoint_stack(image="another"))
    account = make_account(
        prod_text=endpoint_stack(),
        prod_vision=endpoint_stack("prod-vision"),
        prod_new=endpoint_stack("prod-new", count=2),
    )
    peak = peaks(account)["ml.g5.xlarge"]
    assert (peak.running, peak.needed) == (7, 7 + 2 + 4 + 3)


@pytest.mark.parametrize(
    ("applied", "default", "verdicts", "message", "desired"),
    [
        ({G5: 1, ALL: 20}, {}, (REFUSED, OK), "quota 1; 0 run, 2 at the peak", 6),
        ({G5: 4, ALL: 40}, {}, (OK, OK), "2 at the peak of this deploy, 6 at the maximum of", 6),
        ({G5: 6, ALL: 1}, {}, (OK, REFUSED), "quota 6; 0 run", None),
        # The account may have more than the default.
        ({ALL: 20}, {G5: 0, ALL: 4}, (UNKNOWN, OK), "quota 0, AWS default;", 6),
        ({ALL: 20}, {}, (UNKNOWN, OK), "Service Quotas has no such quota in this region", None),
    ],
    ids=["below the peak", "below the maximum", "all types", "AWS default", "missing quota"],
)
def test_quotas_are_compared_with_the_peak(
    make_account: MakeAccount,
    aws: Aws,
    applied: dict[str, float],
    default: dict[str, float],
    verdicts: tuple[Verdict, Verdict],
    message: str,
    desired: int | None,
) -> None:
    run_endpoints(aws)
    deploy_stacks(aws, None)
    set_quotas(aws, applied, default)
    first, second = check_instances(make_account(prod_text=endpoint_stack(count=2, max_capacity=6)))
    assert (first.subject, second.subject) == (G5, ALL)
    assert (first.verdict, second.verdict) == verdicts
    assert message in first.message
    command = (
        "aws service-quotas request-service-quota-increase --service-code sagemaker "
        f"--quota-code L-0 --desired-value {desired}"
    )
    assert first.fix == (command if desired else "")


def test_exceeded_quota_does_not_refuse_an_unchanged_stage(
    make_account: MakeAccount, aws: Aws
) -> None:
    run_endpoints(aws, prod_text=("ml.g5.xlarge", 7))
    deploy_stacks(aws, endpoint_stack(count=2))
    set_quotas(aws, {G5: 1, ALL: 40})
    first, _ = check_instances(make_account(prod_text=endpoint_stack(count=2)))
    assert first.verdict is OK


def test_instances_of_failed_or_deleted_endpoints_are_not_counted(
    make_account: MakeAccount, aws: Aws
) -> None:
    run_endpoints(
        aws,
        failed=("ml.g5.xlarge", 3),
        deleted=("ml.g5.xlarge", 4),
        no_config=("ml.g5.xlarge", 5),
    )
    deploy_stacks(aws, None)
    describe: Any = aws.answers["sagemaker.DescribeEndpoint"]
    config: Any = aws.answers["sagemaker.DescribeEndpointConfig"]

    def describe_endpoint(request: dict[str, Any]) -> dict[str, Any]:
        if request["EndpointName"] == "deleted":
            raise error("ValidationException", "Could not find endpoint")
        result: dict[str, Any] = describe(request)
        failed = request["EndpointName"] == "failed"
        return {**result, "EndpointStatus": "Failed" if failed else "InService"}

    def describe_config(request: dict[str, Any]) -> dict[str, Any]:
        if request["EndpointConfigName"] == "no-config":
            raise error("ValidationException", "Could not find endpoint configuration")
        result: dict[str, Any] = config(request)
        return result

    aws.answers["sagemaker.DescribeEndpoint"] = describe_endpoint
    aws.answers["sagemaker.DescribeEndpointConfig"] = describe_config
    set_quotas(aws, {G5: 9, ALL: 9})
    findings = list(check_instances(make_account(prod_text=endpoint_stack(count=1))))
    assert "0 run" in findings[0].message
    assert [finding.subject for finding in findings if finding.verdict is UNKNOWN] == ["no-config"]


@pytest.mark.parametrize("operation", ["DescribeEndpoint", "DescribeEndpointConfig"])
def test_denied_endpoint_is_unknown_and_others_count(
    make_account: MakeAccount, aws: Aws, operation: str
) -> None:
    run_endpoints(aws, other_team=("ml.g5.xlarge", 3), ours=("ml.g5.xlarge", 4))
    deploy_stacks(aws, None)
    answer: Any = aws.answers[f"sagemaker.{operation}"]

    def answer_or_deny(request: dict[str, Any]) -> dict[str, Any]:
        if "other-team" in request.values():
            raise denied(f"sagemaker:{operation}")
        result: dict[str, Any] = answer(request)
        return result

    aws.answers[f"sagemaker.{operation}"] = answer_or_deny
    set_quotas(aws, {G5: 9, ALL: 9})
    first, _, denied_endpoint = check_instances(make_account(prod_text=endpoint_stack(count=1)))
    assert "4 run, 5 at the peak" in first.message
    assert (denied_endpoint.subject, denied_endpoint.verdict) == ("other-team", UNKNOWN)
    assert denied_endpoint.message == (
        f"no permission (sagemaker:{operation}): its instances are not counted"
    )


ARCHIVE = {
    "Target": "cuda-25.09-sm86",
    "Alternative": "",
    "Bucket": {"Fn::ImportValue": "prod-models:BucketExport"},
}
MODELS = {
    "Resources": {
        name: {"Type": "AWS::CodeBuild::Project", "Properties": {"Environment": environment}}
        for name, environment in {
            "Gpu": {"Type": "LINUX_GPU_CONTAINER", "ComputeType": "BUILD_GENERAL1_SMALL"},
            "Cpu": {"Type": "LINUX_CONTAINER", "ComputeType": "BUILD_GENERAL1_MEDIUM"},
        }.items()
    }
    | {"Bucket": {"Type": "AWS::S3::Bucket"}},
    "Outputs": {"BucketExport": {"Value": {"Ref": "Bucket"}}},
}
GPU = "Concurrently running builds for Linux GPU Small environment"
CPU = "Concurrently running builds for Linux/Medium environment"


def archive(model: str, **changes: str) -> tuple[str, dict[str, Any]]:
    return (
        "Custom::TritonModel",
        {**ARCHIVE, "Model": model, "Key": f"text/{model}.tar.gz", "Digest": model, **changes},
    )


def write_plan(account: Any, **engines: list[str]) -> None:
    """Write the plan of an assembly; `engines` maps models to engines of their archives."""
    planned = {f"text/{model}.tar.gz": files for model, files in engines.items()}
    plan = {"endpoints": {"text": {"engines": planned}}}
    (account.assembly / PLAN).write_text(json.dumps(plan))


def test_engine_needs_a_gpu_build(make_account: MakeAccount, aws: Aws) -> None:
    deploy_stacks(aws, None)
    set_quotas(aws, {GPU: 0, CPU: 1})
    account = make_account(prod_models=MODELS, prod_text={"A": archive("a"), "B": archive("b")})
    write_plan(account, a=["m/1/model.plan"], b=[])
    gpu, cpu = check_builds(account)
    assert (gpu.subject, gpu.verdict) == (GPU, REFUSED)
    assert "models with engines to build: 1" in gpu.message
    assert (cpu.subject, cpu.verdict) == (CPU, OK)
    assert "archives to build: 2" in cpu.message


@pytest.mark.parametrize(("archives", "verdict"), [(12, OK), (13, REFUSED)])
def test_builds_beyond_queue_and_quota_are_refused(
    make_account: MakeAccount, aws: Aws, archives: int, verdict: Verdict
) -> None:
    # CodeBuild queues five builds for each running one (user guide, builds-working).
    deploy_stacks(aws, None)
    set_quotas(aws, {GPU: 1, CPU: 2})
    models = {f"M{number}": archive(f"m{number}") for number in range(archives)}
    account = make_account(prod_models=MODELS, prod_text=models)
    write_plan(account, **{f"m{number}": [] for number in range(archives)})
    _, cpu = check_builds(account)
    assert cpu.verdict is verdict
    if verdict is REFUSED:
        assert "--desired-value 3" in cpu.fix


def test_existing_archives_are_not_built(make_account: MakeAccount, aws: Aws) -> None:
    aws.answers["cloudformation.ListStackResources"] = resources(Bucket="the-bucket")
    set_quotas(aws, {GPU: 0, CPU: 0})

    def head(request: dict[str, Any]) -> dict[str, Any]:
        assert request["Bucket"] == "the-bucket"
        assert request["Key"] == "text/a.json"
        return {}

    aws.answers["s3.HeadObject"] = head
    account = make_account(prod_models=MODELS, prod_text={"A": archive("a")})
    write_plan(account, a=[])
    assert [finding.verdict for finding in check_builds(account)] == [OK, OK]
    aws.answers["s3.HeadObject"] = error("404", "Not Found", "HeadObject")
    assert [finding.verdict for finding in check_builds(account)] == [OK, REFUSED]
