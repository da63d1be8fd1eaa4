"""What is built before anything changes that serves, and how a deploy ends."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.response import StreamingBody

from endpoint_client import EndpointError
from release.delivery import cdk, deployment, smoke, under_way
from release.delivery.assembly import Assembly
from release.delivery.deployment import Deployment
from release.delivery.errors import DeliveredWrong, NotDelivered, RollbackFailed, Unfinished

EXPORT = "prod-models:ExportsOutputRefModelsBucket1"
EXPIRED = ClientError(
    {"Error": {"Code": "ExpiredTokenException", "Message": "expired"}}, "DescribeStacks"
)
OUTPUTS = {
    "ExportsOutputRefModelsBucket1": "bucket",
    "StartFunction": "start",
    "PollFunction": "poll",
}


class FakeAws:
    """A session and all its clients. `objects` are in the bucket.

    `statuses` are those of the stack, one for each time that it is described, then it is at rest.
    So are those of its `endpoint`.
    """

    region_name = "us-east-1"

    def __init__(self) -> None:
        self.objects: set[str] = set()
        self.has_stack = True
        self.statuses: list[str] = []
        self.endpoint: list[str] = []
        self.refuses: Exception | None = None
        self.built: list[dict[str, str]] = []
        self.manifest = b"{}"
        self.fails = ""

    def client(self, _: str) -> "FakeAws":
        return self

    def get_caller_identity(self) -> dict[str, str]:
        return {"Account": "123456789012"}

    def describe_stacks(self, **_: str) -> dict[str, Any]:
        if not self.has_stack:
            raise ClientError({"Error": {"Code": "ValidationError"}}, "DescribeStacks")
        if self.refuses:
            raise self.refuses
        status = self.statuses.pop(0) if self.statuses else "UPDATE_COMPLETE"
        outputs = [{"OutputKey": name, "OutputValue": it} for name, it in OUTPUTS.items()]
        return {"Stacks": [{"Outputs": outputs, "StackStatus": status}]}

    def describe_endpoint(self, **_: str) -> dict[str, str]:
        return {"EndpointStatus": self.endpoint.pop(0) if self.endpoint else "InService"}

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        assert Bucket == "bucket"
        if Key not in self.objects:
            raise ClientError({"Error": {"Code": "NoSuchKey"}}, "GetObject")
        return {"Body": StreamingBody(io.BytesIO(self.manifest), len(self.manifest))}

    def head_object(self, *, Bucket: str, Key: str) -> None:  # noqa: N803
        self.get_object(Bucket=Bucket, Key=Key)

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:  # noqa: N803
        assert FunctionName == "start"
        self.built.append(json.loads(Payload)["ResourceProperties"])
        if self.fails:
            body = json.dumps({"errorMessage": self.fails}).encode()
            return {"Payload": StreamingBody(io.BytesIO(body), len(body)), "FunctionError": ""}
        return {"Payload": StreamingBody(io.BytesIO(b"{}"), 2)}


class FakeCdk:
    """The CLI. `runs` are what it was asked for.

    A run that fails leaves the stack in the statuses `leaves`, and AWS refusing what comes `then`.
    """

    def __init__(self, aws: FakeAws) -> None:
        self._aws = aws
        self.runs: list[tuple[str, ...]] = []
        self.fails = ""
        self.leaves: list[str] = []
        self.then: BaseException | None = None

    def deploy(self, _: Path, *stacks: str) -> bool:
        self._aws.has_stack = True
        return self._run("deploy", *stacks)

    def publish_assets(self, _: Path, *stacks: str) -> bool:
        return self._run("publish-assets", *stacks)

    def _run(self, *what: str) -> bool:
        self.runs.append(what)
        if isinstance(self.then, KeyboardInterrupt):
            raise self.then
        self._aws.statuses = list(self.leaves)
        self._aws.refuses = cast(Exception | None, self.then)
        return self.fails != what[0]


def endpoint_stack(name: str) -> dict[str, Any]:
    sources = {"Fn::Sub": "assets-${AWS::AccountId}-${AWS::Region}"}
    return {
        "Resources": {
            "Model": {
                "Type": "Custom::TritonModel",
                "Properties": {
                    "ServiceToken": {"Fn::ImportValue": "prod-models:Provider"},
                    "Key": f"{name}/model.tar.gz",
                    "Bucket": {"Fn::ImportValue": EXPORT},
                    "Source": {"Fn::Join": ["", [sources, "/source.zip"]]},
                    "WaitMinutes": "50",
                },
            }
        }
    }


@pytest.fixture
def aws() -> FakeAws:
    return FakeAws()


@pytest.fixture
def cli(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> FakeCdk:
    fake = FakeCdk(aws)
    monkeypatch.setattr(cdk, "deploy", fake.deploy)
    monkeypatch.setattr(cdk, "publish_assets", fake.publish_assets)
    monkeypatch.setattr(under_way, "POLL_SECONDS", 0)
    monkeypatch.setattr(smoke, "served", lambda *_: {})
    monkeypatch.setattr(deployment, "newest_events", lambda *_: {})
    monkeypatch.setattr(deployment, "reasons_since", lambda *_: ["models: no"])
    return fake


@pytest.fixture
def delivered(aws: FakeAws, tmp_path: Path) -> Deployment:
    for name in ("text", "vision"):
        path = tmp_path / f"prod-{name}.template.json"
        path.write_text(json.dumps(endpoint_stack(name)))
    budget = {"type": "triton:time-budget", "data": {"rows": [], "builds": 143}}
    metadata = tmp_path / "prod-models.metadata.json"
    metadata.write_text(json.dumps({"/prod-models": [budget]}))
    return Deployment(Assembly(tmp_path, "prod"), cast(boto3.Session, aws))


def test_where_every_archive_is_there_nothing_is_deployed_or_built(
    aws: FakeAws, cli: FakeCdk, delivered: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    aws.objects = {"text/model.json", "vision/model.json"}
    delivered.build()
    assert (cli.runs, aws.built) == ([], [])
    assert "every archive is there: nothing is built" in capsys.readouterr().out


def test_a_missing_archive_is_built_from_what_was_published_by_the_builder_of_this_commit(
    aws: FakeAws, cli: FakeCdk, delivered: Deployment
) -> None:
    aws.objects = {"text/model.json"}
    delivered.build()
    assert cli.runs == [("deploy", "prod-models"), ("publish-assets", "prod-vision")]
    assert aws.built == [
        {
            "Key": "vision/model.tar.gz",
            "Bucket": "bucket",
            "Source": "assets-123456789012-us-east-1/source.zip",
            "WaitMinutes": "143",
        }
    ]


def test_the_first_delivery_of_a_stage_builds_everything(
    aws: FakeAws, cli: FakeCdk, delivered: Deployment
) -> None:
    aws.has_stack = False
    delivered.build()
    assert cli.runs[1] == ("publish-assets", "prod-text", "prod-vision")
    assert [it["Key"] for it in aws.built] == ["text/model.tar.gz", "vision/model.tar.gz"]


OLD, NEW, ARCHIVE = "text/cpu-24.09/", "text/cpu-25.04/", "model.tar.gz"
BEFORE = "before-0123456789ab.tar.gz"


def moved_to(prefix: str) -> dict[str, Any]:
    """Return the stack of `text` as it is where its endpoint loads from a prefix."""
    template = endpoint_stack("text")
    template["Resources"]["Model"]["Properties"]["Key"] = f"{prefix}{ARCHIVE}"
    url = {"Fn::Join": ["", ["s3://", {"Fn::ImportValue": EXPORT}, f"/{prefix}"]]}
    entry = json.dumps({"target_model": ARCHIVE})
    template["Resources"] |= {
        "Container": {
            "Type": "AWS::SageMaker::Model",
            "Properties": {"PrimaryContainer": {"Mode": "MultiModel", "ModelDataUrl": url}},
        },
        "Endpoint": {
            "Type": "AWS::SageMaker::Endpoint",
            "Properties": {
                "EndpointName": "prod-text",
                "EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]},
            },
        },
        "Entry": {
            "Type": "AWS::SSM::Parameter",
            "Properties": {"Name": "/triton/prod/text/model", "Value": entry},
        },
    }
    return template


class Catalog:
    """A client of an endpoint whose catalog names `BEFORE`, and a single model."""

    def __init__(self, **_: Any) -> None: ...

    def models(self) -> list[str]:
        return ["before", "single"]

    def resolve(self, model: str) -> SimpleNamespace:
        return SimpleNamespace(target_model=BEFORE if model == "before" else None)


@pytest.fixture
def moving(aws: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    """An endpoint that moves, of a stage that is deployed."""
    (tmp_path / "prod-text.template.json").write_text(json.dumps(moved_to(NEW)))
    monkeypatch.setattr(deployment, "live_template", lambda *_: moved_to(OLD))
    monkeypatch.setattr(deployment, "EndpointClient", Catalog)
    manifest = {"digest": "d", "source": {"key": "sources/d.zip", "model": "before"}}
    manifest["source"] |= {"alternative": None, "copy_number": None}  # type: ignore[operator]
    aws.manifest = json.dumps(manifest).encode()
    aws.objects = {f"{OLD}{BEFORE}".replace(".tar.gz", ".json"), "sources/d.zip"}
    return Deployment(Assembly(tmp_path, "prod"), cast(boto3.Session, aws))


def test_while_an_endpoint_moves_both_sides_have_what_clients_may_be_sent_to(
    aws: FakeAws, cli: FakeCdk, moving: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    moving.build()
    assert {it["Key"]: it["Source"].rpartition("/")[2] for it in aws.built} == {
        f"{NEW}{ARCHIVE}": "source.zip",
        f"{NEW}{BEFORE}": "d.zip",
        f"{OLD}{ARCHIVE}": "source.zip",
    }
    assert f"{NEW}{BEFORE}: while prod-text moves, clients may be sent" in capsys.readouterr().out


def test_where_only_the_move_misses_something_that_is_built(
    aws: FakeAws, cli: FakeCdk, moving: Deployment
) -> None:
    aws.objects |= {f"{it}model.json" for it in (OLD, NEW)}
    moving.build()
    assert [it["Key"] for it in aws.built] == [f"{NEW}{BEFORE}"]
    assert cli.runs == [("deploy", "prod-models"), ("publish-assets", "prod-text")]


@pytest.mark.parametrize(
    "head",
    [Deployment.build, lambda it: it.promote_from("dev", session=it.session)],
    ids=["build", "promote"],
)
def test_what_serves_is_read_once_an_earlier_delivery_has_ended(
    head: Callable[[Deployment], None],
    aws: FakeAws,
    moving: Deployment,
    cli: FakeCdk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def live(*_: Any) -> dict[str, Any]:
        assert (aws.statuses, aws.endpoint) == ([], [])
        return moved_to(OLD)

    monkeypatch.setattr(deployment, "live_template", live)
    monkeypatch.setattr(deployment, "promote", lambda *_, **__: "")
    aws.statuses, aws.endpoint = ["UPDATE_IN_PROGRESS"] * 2, ["Updating"] * 2
    head(moving)
    assert (aws.statuses, aws.endpoint) == ([], [])


def test_what_cannot_be_built_for_a_move_is_told_before_anything_is_deployed(
    aws: FakeAws, cli: FakeCdk, moving: Deployment
) -> None:
    aws.objects.remove("sources/d.zip")
    with pytest.raises(NotDelivered, match=r"its source s3://bucket/sources/d.zip is gone"):
        moving.build()
    assert (cli.runs, aws.built) == ([], [])


def test_a_build_that_fails_is_told_with_what_it_was_wanted_for(
    aws: FakeAws, cli: FakeCdk, moving: Deployment
) -> None:
    aws.fails = "no such backend"
    with pytest.raises(NotDelivered, match=r"no such backend\n  Wanted because .* one after the"):
        moving.build()


@pytest.mark.parametrize("live", [None, moved_to(NEW), {"Resources": {}}])
def test_an_endpoint_that_is_new_or_stays_or_is_hosted_otherwise_does_not_move(
    aws: FakeAws,
    cli: FakeCdk,
    moving: Deployment,
    monkeypatch: pytest.MonkeyPatch,
    live: dict[str, Any] | None,
) -> None:
    monkeypatch.setattr(deployment, "live_template", lambda *_: live)
    moving.build()
    assert [it["Key"] for it in aws.built] == [f"{NEW}{ARCHIVE}"]


def test_what_a_live_endpoint_imports_may_not_leave_with_a_rollback(
    cli: FakeCdk, moving: Deployment, tmp_path: Path
) -> None:
    kept = {name: {"Export": {"Name": name}} for name in (EXPORT, "prod-models:Provider")}
    path = tmp_path / "prod-models.template.json"
    path.write_text(json.dumps({"Outputs": {**kept, "StartFunction": {"Value": "start"}}}))
    Deployment(Assembly(tmp_path, "prod"), moving.session).refuse_lost_exports()
    path.write_text(json.dumps({"Outputs": {EXPORT: kept[EXPORT]}}))
    with pytest.raises(NotDelivered, match=r"prod-text imports prod-models:Provider, .* forward"):
        Deployment(Assembly(tmp_path, "prod"), moving.session).refuse_lost_exports()
    assert cli.runs == []


def test_what_is_imported_from_outside_the_stage_stays(moving: Deployment) -> None:
    moving.refuse_lost_exports()


@pytest.mark.parametrize("live", [None, {"Resources": {}}])
def test_an_endpoint_that_is_not_there_or_imports_nothing_loses_nothing(
    moving: Deployment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    live: dict[str, Any] | None,
) -> None:
    (tmp_path / "prod-models.template.json").write_text("{}")
    monkeypatch.setattr(deployment, "live_template", lambda *_: live)
    moving.refuse_lost_exports()


@pytest.mark.parametrize(("fails", "said"), [("deploy", "models: no"), ("publish-assets", "CLI")])
def test_what_cannot_be_deployed_or_published_is_not_built(
    fails: str, said: str, aws: FakeAws, cli: FakeCdk, delivered: Deployment
) -> None:
    cli.fails = fails
    with pytest.raises(NotDelivered, match=said):
        delivered.build()
    assert aws.built == []


def test_what_an_earlier_delivery_has_begun_is_waited_for_before_a_deploy(
    aws: FakeAws, cli: FakeCdk, delivered: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    aws.statuses = ["UPDATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"]
    delivered.deploy()
    assert aws.statuses == []
    assert cli.runs == [("deploy", "prod-text", "prod-vision")]
    assert "waits for prod-text, which is UPDATE_IN_PROGRESS" in capsys.readouterr().out


def test_a_deploy_that_cloudformation_has_rolled_back_ends_with_its_reasons(
    cli: FakeCdk, delivered: Deployment
) -> None:
    cli.fails = "deploy"
    with pytest.raises(NotDelivered, match="models: no"):
        delivered.deploy()


def test_a_stack_that_could_not_be_rolled_back_is_told_with_the_way_on(
    cli: FakeCdk, delivered: Deployment
) -> None:
    at_rest = ["UPDATE_COMPLETE", "UPDATE_ROLLBACK_FAILED"]
    cli.fails, cli.leaves = "deploy", [*at_rest, *at_rest]
    with pytest.raises(RollbackFailed) as failed:
        delivered.deploy()
    first, second = str(failed.value).splitlines()
    assert first == "models: no"
    assert second.startswith("  prod-vision is UPDATE_ROLLBACK_FAILED")
    assert "aws cloudformation continue-update-rollback --stack-name prod-vision;" in second


def test_a_deploy_that_goes_on_without_the_cli_is_unfinished(
    cli: FakeCdk, delivered: Deployment
) -> None:
    cli.fails, cli.leaves = "deploy", ["UPDATE_COMPLETE", "UPDATE_IN_PROGRESS"]
    with pytest.raises(Unfinished, match=r"prod-vision \(UPDATE_IN_PROGRESS\) goes on"):
        delivered.deploy()


def test_a_deploy_that_outlives_its_credentials_is_unfinished(
    cli: FakeCdk, delivered: Deployment
) -> None:
    cli.fails, cli.then = "deploy", EXPIRED
    with pytest.raises(Unfinished, match="may be at work: the credentials have expired"):
        delivered.deploy()


def test_credentials_that_expire_while_it_waits_leave_it_unfinished(
    aws: FakeAws, cli: FakeCdk, delivered: Deployment
) -> None:
    aws.refuses = EXPIRED
    with pytest.raises(Unfinished, match="the credentials have expired"):
        delivered.deploy()
    assert cli.runs == []


def test_an_interrupted_deploy_is_unfinished_and_says_of_which_stacks(
    cli: FakeCdk, delivered: Deployment
) -> None:
    cli.then = KeyboardInterrupt()
    with pytest.raises(Unfinished, match=r"interrupted, and .* at work on prod-text, prod-vision"):
        delivered.deploy()


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        (EXPIRED, Unfinished),
        (KeyboardInterrupt(), Unfinished),
        (EndpointConnectionError(endpoint_url="sagemaker"), Unfinished),
        (EndpointError("the catalog is empty"), DeliveredWrong),
    ],
    ids=["expired", "interrupted", "no network", "catalog"],
)
def test_what_was_deployed_is_wrong_only_where_that_is_known(
    error: BaseException,
    ends: type[Exception],
    delivered: Deployment,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> list[str]:
        raise error

    monkeypatch.setattr(smoke, "wrong_answers", fail)
    with pytest.raises(ends, match="deployed"):
        delivered.verify(Path("models"))


def test_what_a_delivery_may_take_is_said(
    delivered: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    delivered.say_how_long()
    assert capsys.readouterr().out == "    0 min  at most, all together\n"
