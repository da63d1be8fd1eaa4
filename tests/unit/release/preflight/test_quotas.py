"""Instances and builds against quotas: the peak of a deploy, not what runs afterwards."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from release.plan import PLAN
from release.preflight import quotas as needed
from release.preflight.findings import Verdict
from release.preflight.fleets import peaks
from tests.unit.release.preflight.conftest import (
    Aws,
    MakeAccount,
    denied,
    endpoint_stack,
    error,
    not_deployed,
    quotas,
    resources,
    runs,
    template,
)

OK, REFUSED, UNKNOWN = Verdict.OK, Verdict.REFUSED, Verdict.UNKNOWN
G5 = "ml.g5.xlarge for endpoint usage"
ALL = "Number of instances across active endpoints"


def allow(aws: Aws, applied: dict[str, float], default: dict[str, float] | None = None) -> None:
    aws.answers["service-quotas.ListServiceQuotas"] = quotas(**applied)
    aws.answers["service-quotas.ListAWSDefaultServiceQuotas"] = quotas(**(default or {}))


def deployed(aws: Aws, before: dict[str, Any] | None) -> None:
    """Let every stack be deployed with these resources; None: let none be."""
    if before is None:
        aws.answers["cloudformation.ListStackResources"] = not_deployed()
        return
    aws.answers["cloudformation.ListStackResources"] = resources(Endpoint="prod-text")
    aws.answers["cloudformation.GetTemplate"] = {"TemplateBody": json.dumps(template(before))}


def test_a_new_endpoint_needs_its_instances(make: MakeAccount, aws: Aws) -> None:
    runs(aws, someone_else=("ml.g5.xlarge", 3))
    deployed(aws, None)
    peak = peaks(make(prod_text=endpoint_stack(count=2, most=10)))["ml.g5.xlarge"]
    assert (peak.running, peak.needed, peak.most) == (3, 5, 13)


def test_each_of_several_instance_types_may_get_all_instances(make: MakeAccount, aws: Aws) -> None:
    runs(aws)
    deployed(aws, None)
    stack = endpoint_stack(count=2, most=4)
    (variant,) = stack["Config"][1]["ProductionVariants"]
    del variant["InstanceType"]
    variant["InstancePools"] = [
        {"InstanceType": "ml.g5.xlarge", "Priority": 2},
        {"InstanceType": "ml.g6.xlarge", "Priority": 1},
    ]
    account = make(prod_text=stack)
    by_type = peaks(account)
    assert {name: (peak.needed, peak.most) for name, peak in by_type.items()} == {
        "ml.g5.xlarge": (2, 4),
        "ml.g6.xlarge": (2, 4),
    }
    assert list(peaks(account, preferred=True)) == ["ml.g6.xlarge"]


def test_blue_green_starts_a_second_fleet_of_the_size_that_scaling_chose(
    make: MakeAccount, aws: Aws
) -> None:
    runs(aws, prod_text=("ml.g5.xlarge", 7))
    deployed(aws, endpoint_stack(image="another"))
    account = make(prod_text=endpoint_stack(count=2))
    assert peaks(account)["ml.g5.xlarge"].needed == 14


def test_an_update_that_retains_nothing_starts_what_the_template_says(
    make: MakeAccount, aws: Aws
) -> None:
    runs(aws, prod_text=("ml.g5.xlarge", 7))
    deployed(aws, endpoint_stack(image="another"))
    account = make(prod_text=endpoint_stack(count=2, retain=False))
    assert peaks(account)["ml.g5.xlarge"].needed == 9


def test_a_schedule_may_ask_for_more_than_scaling(make: MakeAccount, aws: Aws) -> None:
    runs(aws)
    deployed(aws, None)
    stack = endpoint_stack(count=2, most=4)
    launch = {"ScheduledActionName": "launch", "ScalableTargetAction": {"MaxCapacity": 9}}
    stack["Target"][1]["ScheduledActions"] = [launch]
    assert peaks(make(prod_text=stack))["ml.g5.xlarge"].most == 9


def test_other_tags_start_nothing(make: MakeAccount, aws: Aws) -> None:
    runs(aws, prod_text=("ml.g5.xlarge", 7))
    deployed(aws, endpoint_stack(count=2))
    tagged = endpoint_stack(count=2)
    for name in ("Model", "Config", "Endpoint"):
        tagged[name][1]["Tags"] = [{"Key": "team", "Value": "search"}]
    assert peaks(make(prod_text=tagged))["ml.g5.xlarge"].needed == 7


def test_an_endpoint_that_does_not_change_starts_nothing(make: MakeAccount, aws: Aws) -> None:
    runs(aws, prod_text=("ml.g5.xlarge", 7))
    deployed(aws, {**endpoint_stack(count=2), "Other": ("AWS::SSM::Parameter", {"Name": "x"})})
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
def test_a_rolling_update_starts_a_batch(
    make: MakeAccount, aws: Aws, batch: dict[str, Any], needed: int
) -> None:
    runs(aws, prod_text=("ml.g5.xlarge", 7))
    deployed(aws, endpoint_stack(image="another"))
    assert peaks(make(prod_text=endpoint_stack(rolling=batch)))["ml.g5.xlarge"].needed == needed


def test_all_that_a_deploy_starts_runs_side_by_side(make: MakeAccount, aws: Aws) -> None:
    runs(aws, prod_text=("ml.g5.xlarge", 4), prod_vision=("ml.g5.xlarge", 3))
    deployed(aws, endpoint_stack(image="another"))
    account = make(
        prod_text=endpoint_stack(),
        prod_vision=endpoint_stack("prod-vision"),
        prod_new=endpoint_stack("prod-new", count=2),
    )
    peak = peaks(account)["ml.g5.xlarge"]
    assert (peak.running, peak.needed) == (7, 7 + 2 + 4 + 3)


def test_a_quota_below_the_peak_is_refused_with_the_command_that_asks_for_more(
    make: MakeAccount, aws: Aws
) -> None:
    runs(aws)
    deployed(aws, None)
    allow(aws, {G5: 1, ALL: 20})
    first, second = needed.check_instances(make(prod_text=endpoint_stack(count=2, most=6)))
    assert (first.subject, first.verdict) == (G5, REFUSED)
    assert first.fix == (
        "aws service-quotas request-service-quota-increase --service-code sagemaker "
        "--quota-code L-0 --desired-value 6"
    )
    assert (second.subject, second.verdict) == (ALL, OK)


def test_the_quota_of_all_endpoints_together_counts_too(make: MakeAccount, aws: Aws) -> None:
    runs(aws, other=("ml.m5.xlarge", 9))
    deployed(aws, None)
    allow(aws, {G5: 5, ALL: 10})
    first, second = needed.check_instances(make(prod_text=endpoint_stack(count=2)))
    assert (first.verdict, second.verdict) == (OK, REFUSED)
    assert "9 run, 11 at the peak" in second.message


def test_scaling_beyond_the_quota_is_said_and_not_refused(make: MakeAccount, aws: Aws) -> None:
    runs(aws)
    deployed(aws, None)
    allow(aws, {G5: 4, ALL: 40})
    first, _ = needed.check_instances(make(prod_text=endpoint_stack(count=2, most=10)))
    assert first.verdict is OK
    assert "10 where scaling is at its most" in first.message
    assert "--desired-value 10" in first.fix


def test_what_runs_beyond_a_quota_does_not_hinder_a_deploy_that_starts_nothing(
    make: MakeAccount, aws: Aws
) -> None:
    runs(aws, prod_text=("ml.g5.xlarge", 7))
    deployed(aws, endpoint_stack(count=2))
    allow(aws, {G5: 1, ALL: 40})
    first, _ = needed.check_instances(make(prod_text=endpoint_stack(count=2)))
    assert first.verdict is OK


def test_a_default_counts_where_the_account_has_no_value_of_its_own(
    make: MakeAccount, aws: Aws
) -> None:
    runs(aws)
    deployed(aws, None)
    allow(aws, {ALL: 20}, {G5: 0, ALL: 4})
    first, second = needed.check_instances(make(prod_text=endpoint_stack(count=2)))
    assert first.verdict is UNKNOWN  # nobody says that the account has no more
    assert "quota 0, AWS default" in first.message
    assert "--desired-value 2" in first.fix
    assert second.message.startswith("quota 20;")


def test_a_quota_that_is_not_there_or_may_not_be_read_is_unknown(
    make: MakeAccount, aws: Aws
) -> None:
    runs(aws)
    deployed(aws, None)
    allow(aws, {ALL: 20})
    first, _ = needed.check_instances(make(prod_text=endpoint_stack()))
    assert (first.verdict, first.subject) == (UNKNOWN, G5)
    aws.answers["service-quotas.ListServiceQuotas"] = denied("servicequotas:ListServiceQuotas")
    with pytest.raises(ClientError, match="ListServiceQuotas"):
        list(needed.check_instances(make(prod_text=endpoint_stack())))


def test_endpoints_that_fail_go_or_went_hold_no_instances(make: MakeAccount, aws: Aws) -> None:
    runs(aws, failed=("ml.g5.xlarge", 3), gone=("ml.g5.xlarge", 4), lost=("ml.g5.xlarge", 5))
    deployed(aws, None)
    describe: Any = aws.answers["sagemaker.DescribeEndpoint"]
    config: Any = aws.answers["sagemaker.DescribeEndpointConfig"]

    def described(request: dict[str, Any]) -> dict[str, Any]:
        if request["EndpointName"] == "gone":
            raise error("ValidationException", "Could not find endpoint")
        result: dict[str, Any] = describe(request)
        failed = request["EndpointName"] == "failed"
        return {**result, "EndpointStatus": "Failed" if failed else "InService"}

    def configured(request: dict[str, Any]) -> dict[str, Any]:
        if request["EndpointConfigName"] == "lost":
            raise error("ValidationException", "Could not find endpoint configuration")
        result: dict[str, Any] = config(request)
        return result

    aws.answers["sagemaker.DescribeEndpoint"] = described
    aws.answers["sagemaker.DescribeEndpointConfig"] = configured
    allow(aws, {G5: 9, ALL: 9})
    rows = list(needed.check_instances(make(prod_text=endpoint_stack(count=1))))
    assert "0 run" in rows[0].message
    assert [row.subject for row in rows if row.verdict is UNKNOWN] == ["lost"]


@pytest.mark.parametrize("operation", ["DescribeEndpoint", "DescribeEndpointConfig"])
def test_an_endpoint_that_may_not_be_asked_is_said_and_the_others_count(
    make: MakeAccount, aws: Aws, operation: str
) -> None:
    runs(aws, another_team_s=("ml.g5.xlarge", 3), ours=("ml.g5.xlarge", 4))
    deployed(aws, None)
    answer: Any = aws.answers[f"sagemaker.{operation}"]

    def narrowed(request: dict[str, Any]) -> dict[str, Any]:
        if "another-team-s" in request.values():
            raise denied(f"sagemaker:{operation}")
        result: dict[str, Any] = answer(request)
        return result

    aws.answers[f"sagemaker.{operation}"] = narrowed
    allow(aws, {G5: 9, ALL: 9})
    first, _, lost = needed.check_instances(make(prod_text=endpoint_stack(count=1)))
    assert "4 run, 5 at the peak" in first.message
    assert (lost.subject, lost.verdict) == ("another-team-s", UNKNOWN)
    assert lost.message == (
        f"not allowed to ask (sagemaker:{operation}): its instances are not counted"
    )


def test_quotas_and_resources_are_listed_once(make: MakeAccount, aws: Aws) -> None:
    allow(aws, {G5: 1})
    deployed(aws, None)
    account = make()
    for _ in range(2):
        account.quotas.of("sagemaker")
        account.deployed("prod-text")
    listed = [name for name, _ in aws.sent]
    assert sorted(listed) == [
        "cloudformation.ListStackResources",
        "service-quotas.ListAWSDefaultServiceQuotas",
        "service-quotas.ListServiceQuotas",
    ]


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
    """Write the plan of an assembly: model -> the engines of its archive."""
    planned = {f"text/{model}.tar.gz": files for model, files in engines.items()}
    plan = {"endpoints": {"text": {"engines": planned}}}
    (account.assembly / PLAN).write_text(json.dumps(plan))


def test_no_gpu_builder_is_refused_where_an_engine_is_to_be_compiled(
    make: MakeAccount, aws: Aws
) -> None:
    deployed(aws, None)
    allow(aws, {GPU: 0, CPU: 1})
    account = make(prod_models=MODELS, prod_text={"A": archive("a"), "B": archive("b")})
    write_plan(account, a=["m/1/model.plan"], b=[])
    gpu, cpu = needed.check_builds(account)
    assert (gpu.subject, gpu.verdict) == (GPU, REFUSED)
    assert "models with engines to build: 1" in gpu.message
    assert (cpu.subject, cpu.verdict) == (CPU, OK)
    assert "archives to build: 2" in cpu.message


def test_without_an_engine_no_gpu_builder_is_needed(make: MakeAccount, aws: Aws) -> None:
    deployed(aws, None)
    allow(aws, {GPU: 0, CPU: 1})
    account = make(prod_models=MODELS, prod_text={"A": archive("a")})
    write_plan(account, a=[])
    gpu, _ = needed.check_builds(account)
    assert gpu.verdict is OK


def test_a_default_alone_refuses_no_builds(make: MakeAccount, aws: Aws) -> None:
    deployed(aws, None)
    allow(aws, {GPU: 1}, {CPU: 0})
    account = make(prod_models=MODELS, prod_text={"A": archive("a")})
    write_plan(account, a=[])
    _, cpu = needed.check_builds(account)
    assert cpu.verdict is UNKNOWN
    assert "quota 0, AWS default" in cpu.message
    assert "--desired-value 1" in cpu.fix


@pytest.mark.parametrize(("archives", "verdict"), [(12, OK), (13, REFUSED)])
def test_more_builds_than_codebuild_takes_are_refused(
    make: MakeAccount, aws: Aws, archives: int, verdict: Verdict
) -> None:
    # Those that run, and five times as many in the queue (user guide, builds-working).
    deployed(aws, None)
    allow(aws, {GPU: 1, CPU: 2})
    models = {f"M{number}": archive(f"m{number}") for number in range(archives)}
    account = make(prod_models=MODELS, prod_text=models)
    write_plan(account, **{f"m{number}": [] for number in range(archives)})
    _, cpu = needed.check_builds(account)
    assert cpu.verdict is verdict
    if verdict is REFUSED:
        assert "--desired-value 3" in cpu.fix


def test_projects_without_archives_need_no_builds(make: MakeAccount, aws: Aws) -> None:
    allow(aws, {GPU: 0, CPU: 0})
    account = make(prod_models=MODELS)
    write_plan(account)
    assert [finding.verdict for finding in needed.check_builds(account)] == [OK, OK]


def test_archives_that_are_there_are_not_built(make: MakeAccount, aws: Aws) -> None:
    aws.answers["cloudformation.ListStackResources"] = resources(Bucket="the-bucket")
    allow(aws, {GPU: 0, CPU: 0})

    def head(request: dict[str, Any]) -> dict[str, Any]:
        assert request["Bucket"] == "the-bucket"
        assert request["Key"] == "text/a.json"
        return {}

    aws.answers["s3.HeadObject"] = head
    account = make(prod_models=MODELS, prod_text={"A": archive("a")})
    write_plan(account, a=[])
    assert [build.verdict for build in needed.check_builds(account)] == [OK, OK]
    aws.answers["s3.HeadObject"] = error("404", "Not Found", "HeadObject")
    assert [build.verdict for build in needed.check_builds(account)] == [OK, REFUSED]
