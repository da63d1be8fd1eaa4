"""Tests of the comparison of a deploy's peak with quotas on instances and builds."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

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


def test_new_endpoint_adds_its_instances(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws, other_team=("ml.g5.xlarge", 3))
    deploy_stacks(aws, None)
    peak = peaks(make(prod_text=endpoint_stack(count=2, max_capacity=10)))["ml.g5.xlarge"]
    assert (peak.running, peak.needed, peak.maximum) == (3, 5, 13)


def test_all_instances_count_for_each_type_of_a_pool(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws)
    deploy_stacks(aws, None)
    stack = endpoint_stack(count=2, max_capacity=4)
    (variant,) = stack["Config"][1]["ProductionVariants"]
    del variant["InstanceType"]
    variant["InstancePools"] = [
        {"InstanceType": "ml.g5.xlarge", "Priority": 2},
        {"InstanceType": "ml.g6.xlarge", "Priority": 1},
    ]
    account = make(prod_text=stack)
    by_type = peaks(account)
    assert {name: (peak.needed, peak.maximum) for name, peak in by_type.items()} == {
        "ml.g5.xlarge": (2, 4),
        "ml.g6.xlarge": (2, 4),
    }
    assert list(peaks(account, only_preferred=True)) == ["ml.g6.xlarge"]


def test_blue_green_update_doubles_the_scaled_count(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws, prod_text=("ml.g5.xlarge", 7))
    deploy_stacks(aws, endpoint_stack(image="another"))
    account = make(prod_text=endpoint_stack(count=2))
    assert peaks(account)["ml.g5.xlarge"].needed == 14


def test_update_without_retained_counts_uses_the_template(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws, prod_text=("ml.g5.xlarge", 7))
    deploy_stacks(aws, endpoint_stack(image="another"))
    account = make(prod_text=endpoint_stack(count=2, retain=False))
    assert peaks(account)["ml.g5.xlarge"].needed == 9


def test_scheduled_action_can_raise_the_maximum(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws)
    deploy_stacks(aws, None)
    stack = endpoint_stack(count=2, max_capacity=4)
    launch = {"ScheduledActionName": "launch", "ScalableTargetAction": {"MaxCapacity": 9}}
    stack["Target"][1]["ScheduledActions"] = [launch]
    assert peaks(make(prod_text=stack))["ml.g5.xlarge"].maximum == 9


def test_changed_tags_start_no_instances(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws, prod_text=("ml.g5.xlarge", 7))
    deploy_stacks(aws, endpoint_stack(count=2))
    tagged = endpoint_stack(count=2)
    for name in ("Model", "Config", "Endpoint"):
        tagged[name][1]["Tags"] = [{"Key": "team", "Value": "search"}]
    assert peaks(make(prod_text=tagged))["ml.g5.xlarge"].needed == 7


def test_unchanged_endpoint_starts_no_instances(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws, prod_text=("ml.g5.xlarge", 7))
    deploy_stacks(aws, {**endpoint_stack(count=2), "Other": ("AWS::SSM::Parameter", {"Name": "x"})})
    peak = peaks(make(prod_text=endpoint_stack(count=2)))["ml.g5.xlarge"]
    assert (peak.running, peak.needed) == (7, 7)


@pytest.mark.parametrize(
    ("batch", "needed"),
    [
        ({"Type": "INSTANCE_COUNT", "Value": 2}, 9),
        ({"Type": "CAPACITY_PERCENT", "Value": 50}, 10),
        ({"Type": "CAPACITY_PERCENT", "Value": 10}, 8),
        ({"Type": "INSTANCE_COUNT", "Value": 50}, 14),
    ],
)
def test_rolling_update_starts_one_batch(
    make: MakeAccount, aws: Aws, batch: dict[str, Any], needed: int
) -> None:
    run_endpoints(aws, prod_text=("ml.g5.xlarge", 7))
    deploy_stacks(aws, endpoint_stack(image="another"))
    assert peaks(make(prod_text=endpoint_stack(rolling=batch)))["ml.g5.xlarge"].needed == needed


def test_all_endpoints_are_updated_in_parallel(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws, prod_text=("ml.g5.xlarge", 4), prod_vision=("ml.g5.xlarge", 3))
    deploy_stacks(aws, endpoint_stack(image="another"))
    account = make(
        prod_text=endpoint_stack(),
        prod_vision=endpoint_stack("prod-vision"),
        prod_new=endpoint_stack("prod-new", count=2),
    )
    peak = peaks(account)["ml.g5.xlarge"]
    assert (peak.running, peak.needed) == (7, 7 + 2 + 4 + 3)


def test_quota_below_the_peak_is_refused_with_the_command(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws)
    deploy_stacks(aws, None)
    set_quotas(aws, {G5: 1, ALL: 20})
    first, second = check_instances(make(prod_text=endpoint_stack(count=2, max_capacity=6)))
    assert (first.subject, first.verdict) == (G5, REFUSED)
    assert first.fix == (
        "aws service-quotas request-service-quota-increase --service-code sagemaker "
        "--quota-code L-0 --desired-value 6"
    )
    assert (second.subject, second.verdict) == (ALL, OK)


def test_quota_on_all_endpoints(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws, other=("ml.m5.xlarge", 9))
    deploy_stacks(aws, None)
    set_quotas(aws, {G5: 5, ALL: 10})
    first, second = check_instances(make(prod_text=endpoint_stack(count=2)))
    assert (first.verdict, second.verdict) == (OK, REFUSED)
    assert "9 run, 11 at the peak" in second.message


def test_scaling_beyond_the_quota_is_not_refused(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws)
    deploy_stacks(aws, None)
    set_quotas(aws, {G5: 4, ALL: 40})
    first, _ = check_instances(make(prod_text=endpoint_stack(count=2, max_capacity=10)))
    assert first.verdict is OK
    assert "10 at the maximum of scaling" in first.message
    assert "--desired-value 10" in first.fix


def test_exceeded_quota_does_not_refuse_an_unchanged_stage(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws, prod_text=("ml.g5.xlarge", 7))
    deploy_stacks(aws, endpoint_stack(count=2))
    set_quotas(aws, {G5: 1, ALL: 40})
    first, _ = check_instances(make(prod_text=endpoint_stack(count=2)))
    assert first.verdict is OK


def test_default_quota_is_unknown_not_refused(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws)
    deploy_stacks(aws, None)
    set_quotas(aws, {ALL: 20}, {G5: 0, ALL: 4})
    first, second = check_instances(make(prod_text=endpoint_stack(count=2)))
    assert first.verdict is UNKNOWN  # the account may have more than the default
    assert "quota 0, AWS default" in first.message
    assert "--desired-value 2" in first.fix
    assert second.message.startswith("quota 20;")


def test_missing_or_unreadable_quota(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws)
    deploy_stacks(aws, None)
    set_quotas(aws, {ALL: 20})
    first, _ = check_instances(make(prod_text=endpoint_stack()))
    assert (first.verdict, first.subject) == (UNKNOWN, G5)
    aws.answers["service-quotas.ListServiceQuotas"] = denied("servicequotas:ListServiceQuotas")
    with pytest.raises(ClientError, match="ListServiceQuotas"):
        list(check_instances(make(prod_text=endpoint_stack())))


def test_failed_or_deleted_endpoints_have_no_instances(make: MakeAccount, aws: Aws) -> None:
    run_endpoints(
        aws, failed=("ml.g5.xlarge", 3), gone=("ml.g5.xlarge", 4), lost=("ml.g5.xlarge", 5)
    )
    deploy_stacks(aws, None)
    describe: Any = aws.answers["sagemaker.DescribeEndpoint"]
    config: Any = aws.answers["sagemaker.DescribeEndpointConfig"]

    def describe_changed(request: dict[str, Any]) -> dict[str, Any]:
        if request["EndpointName"] == "gone":
            raise error("ValidationException", "Could not find endpoint")
        result: dict[str, Any] = describe(request)
        failed = request["EndpointName"] == "failed"
        return {**result, "EndpointStatus": "Failed" if failed else "InService"}

    def configure_changed(request: dict[str, Any]) -> dict[str, Any]:
        if request["EndpointConfigName"] == "lost":
            raise error("ValidationException", "Could not find endpoint configuration")
        result: dict[str, Any] = config(request)
        return result

    aws.answers["sagemaker.DescribeEndpoint"] = describe_changed
    aws.answers["sagemaker.DescribeEndpointConfig"] = configure_changed
    set_quotas(aws, {G5: 9, ALL: 9})
    findings = list(check_instances(make(prod_text=endpoint_stack(count=1))))
    assert "0 run" in findings[0].message
    assert [finding.subject for finding in findings if finding.verdict is UNKNOWN] == ["lost"]


@pytest.mark.parametrize("operation", ["DescribeEndpoint", "DescribeEndpointConfig"])
def test_denied_endpoint_is_unknown_and_others_count(
    make: MakeAccount, aws: Aws, operation: str
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
    first, _, denied_endpoint = check_instances(make(prod_text=endpoint_stack(count=1)))
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


def test_engine_needs_a_gpu_build(make: MakeAccount, aws: Aws) -> None:
    deploy_stacks(aws, None)
    set_quotas(aws, {GPU: 0, CPU: 1})
    account = make(prod_models=MODELS, prod_text={"A": archive("a"), "B": archive("b")})
    write_plan(account, a=["m/1/model.plan"], b=[])
    gpu, cpu = check_builds(account)
    assert (gpu.subject, gpu.verdict) == (GPU, REFUSED)
    assert "models with engines to build: 1" in gpu.message
    assert (cpu.subject, cpu.verdict) == (CPU, OK)
    assert "archives to build: 2" in cpu.message


def test_default_quota_refuses_no_builds(make: MakeAccount, aws: Aws) -> None:
    deploy_stacks(aws, None)
    set_quotas(aws, {GPU: 0}, {CPU: 0})
    account = make(prod_models=MODELS, prod_text={"A": archive("a")})
    write_plan(account, a=[])
    gpu, cpu = check_builds(account)
    assert (gpu.verdict, cpu.verdict) == (OK, UNKNOWN)
    assert "quota 0, AWS default" in cpu.message
    assert "--desired-value 1" in cpu.fix


@pytest.mark.parametrize(("archives", "verdict"), [(12, OK), (13, REFUSED)])
def test_builds_beyond_queue_and_quota_are_refused(
    make: MakeAccount, aws: Aws, archives: int, verdict: Verdict
) -> None:
    # CodeBuild queues five builds for each running one (user guide, builds-working).
    deploy_stacks(aws, None)
    set_quotas(aws, {GPU: 1, CPU: 2})
    models = {f"M{number}": archive(f"m{number}") for number in range(archives)}
    account = make(prod_models=MODELS, prod_text=models)
    write_plan(account, **{f"m{number}": [] for number in range(archives)})
    _, cpu = check_builds(account)
    assert cpu.verdict is verdict
    if verdict is REFUSED:
        assert "--desired-value 3" in cpu.fix


def test_existing_archives_are_not_built(make: MakeAccount, aws: Aws) -> None:
    aws.answers["cloudformation.ListStackResources"] = resources(Bucket="the-bucket")
    set_quotas(aws, {GPU: 0, CPU: 0})

    def head(request: dict[str, Any]) -> dict[str, Any]:
        assert request["Bucket"] == "the-bucket"
        assert request["Key"] == "text/a.json"
        return {}

    aws.answers["s3.HeadObject"] = head
    account = make(prod_models=MODELS, prod_text={"A": archive("a")})
    write_plan(account, a=[])
    assert [finding.verdict for finding in check_builds(account)] == [OK, OK]
    aws.answers["s3.HeadObject"] = error("404", "Not Found", "HeadObject")
    assert [finding.verdict for finding in check_builds(account)] == [OK, REFUSED]
