"""Tests of the comparison of a deploy's peak with quotas on instances and builds."""

from typing import Any

import pytest

from delivery.preflight.account import Account
from delivery.preflight.findings import CheckFinding, Verdict
from delivery.preflight.quotas import check_builds, check_functions, check_instances
from plan.document import Archive
from tests.unit.delivery.preflight.conftest import (
    Aws,
    MakeAccount,
    denied,
    endpoint_stack,
    error,
    not_deployed,
    quotas,
    resources,
    run_endpoints,
)
from tests.unit.plan.plans import make_endpoint, make_model, make_plan

OK, REFUSED, UNKNOWN = Verdict.OK, Verdict.REFUSED, Verdict.UNKNOWN
G5, G6 = "ml.g5.xlarge for endpoint usage", "ml.g6.xlarge for endpoint usage"
ALL = "Number of instances across active endpoints"


def set_quotas(
    aws: Aws, applied: dict[str, float], default: dict[str, float] | None = None
) -> None:
    aws.answers["service-quotas.ListServiceQuotas"] = quotas(**applied)
    aws.answers["service-quotas.ListAWSDefaultServiceQuotas"] = quotas(**(default or {}))


def instance_findings(aws: Aws, account: Account, **values: float) -> dict[str, CheckFinding]:
    """Return the findings about instances by their quota."""
    set_quotas(aws, {G5: 99, G6: 99, ALL: 99, **values})
    return {finding.subject: finding for finding in check_instances(account)}


def test_new_endpoint_needs_its_instances(make_account: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws, other_team=("ml.g5.xlarge", 3))
    account = make_account(prod_text=endpoint_stack(count=2, max_capacity=10))
    finding = instance_findings(aws, account, **{G5: 4})[G5]
    assert finding.verdict is REFUSED
    assert finding.message == (
        "quota 4; 3 run, this deploy starts 2, updates and scaling up to 13 in all"
    )
    assert finding.fix.endswith("--quota-code L-0 --desired-value 13")


def test_all_instances_count_for_each_type_of_a_pool(make_account: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws)
    stack = endpoint_stack(count=2, max_capacity=4)
    (variant,) = stack["Config"][1]["ProductionVariants"]
    del variant["InstanceType"]
    variant["InstancePools"] = [
        {"InstanceType": "ml.g5.xlarge", "Priority": 2},
        {"InstanceType": "ml.g6.xlarge", "Priority": 1},
    ]
    findings = instance_findings(aws, make_account(prod_text=stack))
    assert findings.keys() == {G5, G6, ALL}
    for finding in findings.values():
        assert finding.message.endswith("starts 2, updates and scaling up to 4 in all")


def test_scheduled_action_can_raise_the_maximum(make_account: MakeAccount, aws: Aws) -> None:
    run_endpoints(aws)
    stack = endpoint_stack(count=2, max_capacity=4)
    launch = {"ScheduledActionName": "launch", "ScalableTargetAction": {"MaxCapacity": 9}}
    stack["Target"][1]["ScheduledActions"] = [launch]
    assert "up to 9 in all" in instance_findings(aws, make_account(prod_text=stack))[G5].message


def test_running_endpoint_is_not_refused(make_account: MakeAccount, aws: Aws) -> None:
    """SageMaker refuses an update beyond the quota, and then changes nothing."""
    run_endpoints(aws, prod_text=("ml.g5.xlarge", 7))
    finding = instance_findings(aws, make_account(prod_text=endpoint_stack()), **{G5: 1})[G5]
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
    make_account: MakeAccount,
    aws: Aws,
    applied: dict[str, float],
    default: dict[str, float],
    verdicts: tuple[Verdict, Verdict],
    desired: int | None,
) -> None:
    run_endpoints(aws)
    set_quotas(aws, applied, default)
    account = make_account(prod_text=endpoint_stack(count=2, max_capacity=6))
    findings = {finding.subject: finding for finding in check_instances(account)}
    assert (findings[G5].verdict, findings[ALL].verdict) == verdicts
    command = (
        "aws service-quotas request-service-quota-increase --service-code sagemaker "
        f"--quota-code L-0 --desired-value {desired}"
    )
    assert findings[G5].fix == (command if desired else "")


def test_instances_of_failed_or_deleted_endpoints_are_not_counted(
    make_account: MakeAccount, aws: Aws
) -> None:
    run_endpoints(
        aws,
        failed=("ml.g5.xlarge", 3),
        deleted=("ml.g5.xlarge", 4),
        no_config=("ml.g5.xlarge", 5),
    )
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
    assert "0 run" in findings[1].message
    assert [finding.subject for finding in findings if finding.verdict is UNKNOWN] == ["no-config"]


@pytest.mark.parametrize("operation", ["DescribeEndpoint", "DescribeEndpointConfig"])
def test_denied_endpoint_is_unknown_and_others_count(
    make_account: MakeAccount, aws: Aws, operation: str
) -> None:
    run_endpoints(aws, other_team=("ml.g5.xlarge", 3), ours=("ml.g5.xlarge", 4))
    answer: Any = aws.answers[f"sagemaker.{operation}"]

    def answer_or_deny(request: dict[str, Any]) -> dict[str, Any]:
        if "other-team" in request.values():
            raise denied(f"sagemaker:{operation}")
        result: dict[str, Any] = answer(request)
        return result

    aws.answers[f"sagemaker.{operation}"] = answer_or_deny
    set_quotas(aws, {G5: 9, ALL: 9})
    _, first, denied_endpoint = check_instances(make_account(prod_text=endpoint_stack(count=1)))
    assert "4 run, this deploy starts 1" in first.message
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
    models = {
        model: make_model(
            model,
            archives={f"text/{model}.tar.gz": Archive(target="25.09-sm86", engines=tuple(files))},
        )
        for model, files in engines.items()
    }
    make_plan(endpoints={"text": make_endpoint(models=models)}).write(account.assembly)


def test_engine_needs_a_gpu_build(make_account: MakeAccount, aws: Aws) -> None:
    aws.answers["cloudformation.ListStackResources"] = not_deployed()
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
    aws.answers["cloudformation.ListStackResources"] = not_deployed()
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


@pytest.mark.parametrize(
    ("limit", "verdict", "has_command"), [(12, OK, False), (10, OK, True), (3, REFUSED, True)]
)
def test_functions_need_two_executions_for_each_custom_resource_at_once(
    make_account: MakeAccount, aws: Aws, limit: int, verdict: Verdict, *, has_command: bool
) -> None:
    aws.answers["lambda.GetAccountSettings"] = {"AccountLimit": {"ConcurrentExecutions": limit}}
    stack = {
        "Resources": {
            "A": {"Type": "Custom::Any"},
            "B": {"Type": "Custom::Any", "DependsOn": ["A"]},
            "C": {"Type": "Custom::Any", "Properties": {"After": {"Ref": "A"}}},
            "D": {"Type": "Custom::Any", "DependsOn": "Bucket"},
            "Bucket": {"Type": "AWS::S3::Bucket"},
        }
    }
    (finding,) = check_functions(make_account(prod_a=stack, prod_b=stack, prod_c=stack))
    assert finding.verdict is verdict
    assert finding.message == f"{limit}; one stack needs up to 4, all at once 12"
    assert ("--service-code lambda --quota-code L-B99A9384" in finding.fix) == has_command
