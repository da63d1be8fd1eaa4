"""Prices, facts, GPU builds, and what of them is recorded."""

import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import platform_facts
from release.preflight import facts, gpu_builds, gpu_probe, prices
from release.preflight.gpu_probe import MARK, Gpu, ProbeFailed
from release.preflight.instance_quotas import quota_name
from release.preflight.price_list import NoPrices, hosting_prices
from release.preflight.rows import Row, Verdict
from release.preflight.seen import Seen, prices_written, record, record_gpu
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
)

DAY = date(2026, 11, 22)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_probe, "POLL_SECONDS", 0)


def product(usage_type: str, usd: str) -> str:
    """As the API has it: JSON in a text."""
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": usd}}
    return json.dumps(
        {
            "product": {"attributes": {"usagetype": usage_type, "regionCode": "us-east-1"}},
            "terms": {"OnDemand": {"A.B": {"priceDimensions": {"A.B.C": dimension}}}},
        }
    )


def cost(aws: Aws, *products: str) -> None:
    aws.answers["pricing.GetProducts"] = {"PriceList": list(products)}


def test_hosting_alone_is_taken(aws: Aws) -> None:
    cost(
        aws,
        product("USE1-Host:ml.g5.xlarge", "1.408"),
        product("USE1-AsyncInf:ml.g5.xlarge", "2"),
        product("USE1-Train:ml.g5.xlarge", "3"),
        product("Host:ml.m5.xlarge", "0.23"),
    )
    found = hosting_prices(aws.session.client("pricing"), "eu-west-1")
    assert found == {"ml.g5.xlarge": 1.408, "ml.m5.xlarge": 0.23}
    (request,) = aws.requests("pricing.GetProducts")
    assert request["Filters"][0]["Value"] == "eu-west-1"


def test_a_region_without_prices_and_a_product_with_several_are_errors(aws: Aws) -> None:
    client = aws.session.client("pricing")
    cost(aws, product("USE1-Train:ml.g5.xlarge", "3"))
    with pytest.raises(NoPrices, match="no prices of SageMaker hosting in us-east-1"):
        hosting_prices(client, "us-east-1")
    free = json.loads(product("Host:ml.g5.xlarge", "1"))
    free["terms"]["OnDemand"] = {}
    cost(aws, json.dumps(free))
    with pytest.raises(NoPrices, match="no one price"):
        hosting_prices(client, "us-east-1")


@pytest.mark.parametrize(
    ("products", "verdict", "said"),
    [
        (["1.4084"], Verdict.OK, "as reviews say"),
        (["1.5"], Verdict.OK, "1.5 USD an hour now; reviews say 1.4084, of 2025-02-03"),
        ([], Verdict.UNKNOWN, "AWS has no price of it here"),
    ],
)
def test_prices_now_are_compared_with_those_of_reviews(
    make: MakeAccount, aws: Aws, products: list[str], verdict: Verdict, said: str
) -> None:
    runs(aws)
    aws.answers["cloudformation.ListStackResources"] = not_deployed()
    of = [product("Host:ml.g5.xlarge", usd) for usd in products]
    cost(aws, product("Host:ml.other", "1"), product("Host:ml.m4.xlarge", "1"), *of)
    (row,) = prices.ask(make(prod_text=endpoint_stack()))
    assert row.verdict is verdict
    assert said in row.said


def test_a_family_that_no_table_has_is_said(make: MakeAccount, aws: Aws) -> None:
    names = {quota_name(it): 1 for it in ("ml.g5.xlarge", "ml.g99.xlarge", "ml.m5.large")}
    names["ml.g98.xlarge for training job usage"] = 1
    aws.answers["service-quotas.ListServiceQuotas"] = quotas(**names)
    aws.answers["service-quotas.ListAWSDefaultServiceQuotas"] = quotas()
    _, row = facts.ask(make())
    assert row.said == "SageMaker has g99, which platform_facts/instances.toml has not"
    del names[quota_name("ml.g99.xlarge")]
    aws.answers["service-quotas.ListServiceQuotas"] = quotas(**names)
    _, row = facts.ask(make())
    assert "has all that SageMaker has" in row.said


def test_an_inference_ami_that_no_table_has_is_said_without_a_call(
    make: MakeAccount, aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "has all of the SDK's" in next(facts.ask(make())).said
    *older, newest = platform_facts.inference_amis()
    monkeypatch.setattr(platform_facts, "inference_amis", lambda: older)
    row = next(facts.ask(make()))
    assert row.said == (
        f"the SDK has {newest.name}, which platform_facts/inference_amis.toml has not"
    )
    assert aws.asked == []


IMAGE = "nvcr.io/nvidia/tensorrt:26.05-py3"
GPU = {
    "Gpu": (
        "AWS::CodeBuild::Project",
        {
            "Environment": {
                "Type": "LINUX_GPU_CONTAINER",
                "ComputeType": "BUILD_GENERAL1_SMALL",
                "Image": IMAGE,
            }
        },
    )
}
MODEL = {"M": ("Custom::TritonModel", {"Target": "cuda-25.09-sm86"})}
SAID = {"driver": "580.1", "gpu": "NVIDIA A10G", "cuda": "13.0", "tensorrt": "10.13"}


def builds(aws: Aws, *lines: str, status: str = "SUCCEEDED") -> None:
    build: dict[str, Any] = {
        "id": "gpu:1",
        "buildStatus": status,
        "logs": {"groupName": "g", "streamName": "s"},
    }
    if status != "SUCCEEDED":
        build["phases"] = [{"contexts": [{"statusCode": "X", "message": "no such image"}]}]
    aws.answers |= {
        "codebuild.StartBuild": {"build": {"id": "gpu:1"}},
        "codebuild.BatchGetBuilds": {"builds": [build]},
        "codebuild.StopBuild": {},
        "logs.GetLogEvents": {"events": [{"message": f"{line}\n"} for line in lines]},
    }


def test_a_build_of_the_stage_s_project_says_what_the_gpu_is(make: MakeAccount, aws: Aws) -> None:
    aws.answers["cloudformation.ListStackResources"] = resources(Gpu="prod-models-engines")
    builds(aws, "[Container] starting", MARK + json.dumps(SAID))
    seen = Seen()
    rows = list(gpu_builds.ask_a_build(make(prod_models=GPU, prod_text=MODEL), seen))
    assert seen.gpu == Gpu("580.1", "NVIDIA A10G", "13.0", "10.13")
    assert [it.verdict for it in rows] == [Verdict.OK] * 3
    (request,) = aws.requests("codebuild.StartBuild")
    assert request["projectName"] == "prod-models-engines"
    assert MARK in json.loads(request["buildspecOverride"])["phases"]["build"]["commands"][0]


@pytest.mark.parametrize("cuda", ["12.4", ""])
def test_a_driver_older_than_the_image_is_refused(cuda: str) -> None:
    tag = IMAGE.rpartition(":")[2]
    assert [it.cuda for it in platform_facts.releases() if it.builder_tag == tag]
    *_, row = gpu_probe.rows(Gpu("550", "A10G", cuda, "10.13"), IMAGE)
    assert row.verdict is Verdict.REFUSED


@pytest.mark.parametrize(
    ("lines", "status", "said"),
    [
        (["nothing"], "SUCCEEDED", "no line of what it saw"),
        ([], "FAILED", "gpu:1 is FAILED: no such image"),
    ],
)
def test_a_probe_that_says_nothing_is_unknown(
    make: MakeAccount, aws: Aws, lines: list[str], status: str, said: str
) -> None:
    aws.answers["cloudformation.ListStackResources"] = resources(Gpu="p")
    builds(aws, *lines, status=status)
    (row,) = gpu_builds.ask_a_build(make(prod_models=GPU, prod_text=MODEL), Seen())
    assert row.verdict is Verdict.UNKNOWN
    assert said in row.said


def test_an_interrupted_probe_stops_its_build(make: MakeAccount, aws: Aws) -> None:
    aws.answers["cloudformation.ListStackResources"] = resources(Gpu="p")
    builds(aws)

    def interrupted(_: dict[str, Any]) -> dict[str, Any]:
        raise KeyboardInterrupt

    aws.answers["codebuild.BatchGetBuilds"] = interrupted
    with pytest.raises(KeyboardInterrupt):
        list(gpu_builds.ask_a_build(make(prod_models=GPU, prod_text=MODEL), Seen()))
    assert aws.requests("codebuild.StopBuild") == [{"id": "gpu:1"}]


MADE = ("codebuild.DeleteProject", "iam.DeleteRolePolicy", "iam.DeleteRole", "logs.DeleteLogGroup")
"""What removes a project of the probe's own, in its order: the log group when nobody can make it
again."""


def own_project(aws: Aws) -> None:
    aws.answers["cloudformation.ListStackResources"] = not_deployed()
    builds(aws, MARK + json.dumps(SAID))
    role = {
        "Path": "/",
        "RoleName": "triton-preflight",
        "RoleId": "AROA1234567890123456",
        "Arn": "arn:aws:iam::111122223333:role/triton-preflight",
        "CreateDate": "2026-01-01",
    }
    aws.answers |= {
        "iam.CreateRole": {"Role": role},
        "iam.GetRole": {"Role": role},
        "iam.PutRolePolicy": {},
        "iam.DeleteRolePolicy": error("NoSuchEntity"),
        "iam.DeleteRole": {},
        "codebuild.CreateProject": {},
        "codebuild.DeleteProject": {},
        "logs.DeleteLogGroup": error("ResourceNotFoundException"),
    }


def test_without_a_project_one_is_made_and_removed_with_its_role(
    make: MakeAccount, aws: Aws
) -> None:
    own_project(aws)
    left: list[Row] = []
    assert gpu_probe.probe(make(prod_models=GPU, prod_text=MODEL), left)[0].driver == "580.1"
    assert [name for name, _ in aws.asked if name in MADE] == list(MADE)
    (made,) = aws.requests("iam.CreateRole")
    assert aws.requests("iam.DeleteRole") == [{"RoleName": made["RoleName"]}]
    assert aws.requests("codebuild.DeleteProject") == [{"name": made["RoleName"]}]
    assert left == []


def test_a_project_that_may_not_be_made_leaves_no_role(make: MakeAccount, aws: Aws) -> None:
    own_project(aws)
    aws.answers["codebuild.CreateProject"] = denied("codebuild:CreateProject")
    (row,) = gpu_builds.ask_a_build(make(prod_models=GPU, prod_text=MODEL), Seen())
    assert "codebuild:CreateProject" in row.said
    assert [name for name, _ in aws.asked if name in MADE] == list(MADE[1:])


@pytest.mark.parametrize("stays", MADE)
def test_what_cannot_be_removed_is_a_row_and_the_rest_is_removed(
    make: MakeAccount, aws: Aws, stays: str
) -> None:
    own_project(aws)
    aws.answers[stays] = denied(stays)
    seen = Seen()
    *rows, left = gpu_builds.ask_a_build(make(prod_models=GPU, prod_text=MODEL), seen)
    assert [it.verdict for it in rows] == [Verdict.OK] * 3
    assert seen.gpu is not None
    assert left.verdict is Verdict.UNKNOWN
    assert left.said.startswith("is left: not allowed to ask")
    assert aws.requests("iam.CreateRole")[0]["RoleName"] in left.do
    assert [name for name, _ in aws.asked if name in MADE] == list(MADE)


def test_an_interrupt_waits_for_the_stopped_build_before_its_log_goes(
    make: MakeAccount, aws: Aws
) -> None:
    own_project(aws)
    running: dict[str, Any] = {"builds": [{"id": "gpu:1", "buildStatus": "IN_PROGRESS"}]}
    stopped = {"builds": [{"id": "gpu:1", "buildStatus": "STOPPED"}]}
    answers: Any = iter([KeyboardInterrupt(), running, running, stopped])

    def asked(_: dict[str, Any]) -> dict[str, Any]:
        answer: Any = next(answers)
        if isinstance(answer, KeyboardInterrupt):
            raise answer
        return dict(answer)

    aws.answers["codebuild.BatchGetBuilds"] = asked
    aws.answers["codebuild.DeleteProject"] = denied("codebuild:DeleteProject")
    with pytest.raises(KeyboardInterrupt) as interrupted:
        list(gpu_builds.ask_a_build(make(prod_models=GPU, prod_text=MODEL), Seen()))
    assert list(answers) == []
    assert [name for name, _ in aws.asked if name in MADE] == list(MADE)
    (note,) = interrupted.value.__notes__
    assert "is left: not allowed to ask" in note


def test_a_build_that_cannot_be_stopped_is_said(make: MakeAccount, aws: Aws) -> None:
    aws.answers["cloudformation.ListStackResources"] = resources(Gpu="p")
    builds(aws)
    aws.answers["codebuild.BatchGetBuilds"] = denied("codebuild:BatchGetBuilds")
    aws.answers["codebuild.StopBuild"] = denied("codebuild:StopBuild")
    failed, left = gpu_builds.ask_a_build(make(prod_models=GPU, prod_text=MODEL), Seen())
    assert "codebuild:BatchGetBuilds" in failed.said
    assert (left.subject, left.do) == ("build gpu:1", "aws codebuild stop-build --id gpu:1")


def test_a_stage_without_gpus_asks_for_none(make: MakeAccount) -> None:
    cpu = {"M": ("Custom::TritonModel", {"Target": "cpu-24.09"})}
    account = make(prod_models=GPU, prod_text=cpu)
    assert list(gpu_builds.ask(account)) == []
    assert list(gpu_builds.ask_a_build(account, Seen())) == []
    with pytest.raises(ProbeFailed, match="no GPU project"):
        gpu_probe.probe(make(prod_models={}, prod_text=cpu), [])


def test_what_was_seen_is_written_as_rows_and_read_again(
    make: MakeAccount, aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost(aws, product("Host:ml.g5.xlarge", "1.5"))
    default = {quota_name("ml.g5.xlarge"): 0, quota_name("ml.g99.xlarge"): 1}
    aws.answers["service-quotas.ListAWSDefaultServiceQuotas"] = quotas(**default)
    table = tmp_path / "seen.toml"
    table.write_text("# What was seen.\n# Kept.\n")
    (tmp_path / "prices.toml").touch()
    account = make()
    for driver in ("570.1", "580.1"):
        gpu = Gpu(driver, 'NVIDIA "A10G"', "13.0", "no\nmodule")
        lines = [
            *record_gpu(account, Seen(gpu), tmp_path, DAY),
            *record(account, tmp_path, DAY),
        ]
    assert len(lines) == 3
    text = table.read_text()
    assert text.startswith("# What was seen.\n# Kept.\n")
    assert "111122223333" not in text
    written = tomllib.loads(text)
    (row,) = written["codebuild_gpu"]
    assert (row["driver"], row["gpu"], row["date"]) == ("580.1", 'NVIDIA "A10G"', DAY)
    assert row["source"] == "preflight, 2026-11-22, us-east-1; account not named"
    assert row["tensorrt"] == "no\nmodule"
    (hosting,) = written["hosting"]
    assert hosting["default_quotas"] == {"ml.g5.xlarge": 0}
    priced = tomllib.loads((tmp_path / "prices.toml").read_text())
    assert priced["us-east-1"] == {"ml.g5.xlarge": 1.5}

    monkeypatch.setattr("platform_facts._seen.read_table", lambda _: written)
    found = platform_facts.codebuild_gpu_seen("us-east-1")
    assert found is not None
    assert found.driver == "580.1"
    assert platform_facts.codebuild_gpu_seen("eu-west-1") is None
    kept = platform_facts.hosting_seen("us-east-1")
    assert kept is not None
    assert kept.default_quotas == {"ml.g5.xlarge": 0}
    rows = list(gpu_builds.ask(make(prod_models=GPU, prod_text=MODEL)))
    assert [it.verdict for it in rows] == [Verdict.OK] * 3


@pytest.mark.parametrize(
    ("driver", "cuda"),
    [("[Errno 2] No such file or directory: 'nvidia-smi'", ""), ("580.1", ""), ("", "13.0")],
)
def test_a_probe_that_saw_no_gpu_is_shown_and_not_recorded(
    make: MakeAccount, tmp_path: Path, driver: str, cuda: str
) -> None:
    found = Gpu(driver, "", cuda, "10.13")
    assert driver in next(gpu_probe.rows(found, IMAGE)).said
    (line,) = record_gpu(make(), Seen(found), tmp_path, DAY)
    assert line == "seen.toml: nothing of CodeBuild's GPU: the probe read no driver or no CUDA"
    assert list(tmp_path.glob("*.toml")) == []
    assert list(record_gpu(make(), Seen(), tmp_path, DAY)) == []


def test_without_prices_the_table_of_prices_stays(
    make: MakeAccount, aws: Aws, tmp_path: Path
) -> None:
    aws.answers["service-quotas.ListAWSDefaultServiceQuotas"] = quotas()
    aws.answers["pricing.GetProducts"] = denied("pricing:GetProducts")
    (tmp_path / "seen.toml").write_text("# Kept.\n")
    table = tmp_path / "prices.toml"
    table.write_text(prices_written({"us-east-1": {"ml.g5.xlarge": 1.0}}, DAY))
    before = table.read_text()
    with pytest.raises(Exception, match="pricing:GetProducts"):
        list(record(make(), tmp_path, DAY))
    assert table.read_text() == before


def test_the_shipped_table_has_nothing_that_nobody_saw() -> None:
    assert platform_facts.codebuild_gpu_seen("us-east-1") is None
    assert platform_facts.hosting_seen("us-east-1") is None
