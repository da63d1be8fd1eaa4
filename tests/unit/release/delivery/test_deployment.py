"""What is built before anything changes that serves."""

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from release.delivery import cdk, deployment, smoke
from release.delivery.assembly import Assembly
from release.delivery.deployment import Deployment
from release.delivery.errors import NotDelivered

EXPORT = "prod-models:ExportsOutputRefModelsBucket1"
OUTPUTS = {
    "ExportsOutputRefModelsBucket1": "bucket",
    "StartFunction": "start",
    "PollFunction": "poll",
}


class FakeAws:
    """A session and all its clients. `objects` are in the bucket, `functions` were invoked."""

    region_name = "us-east-1"

    def __init__(self) -> None:
        self.objects: set[str] = set()
        self.has_stack = True
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
        outputs = [{"OutputKey": name, "OutputValue": it} for name, it in OUTPUTS.items()]
        return {"Stacks": [{"Outputs": outputs}]}

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
    """The CLI. `runs` are what it was asked for."""

    def __init__(self, aws: FakeAws) -> None:
        self._aws = aws
        self.runs: list[tuple[str, ...]] = []
        self.fails = ""

    def deploy(self, _: Path, *stacks: str) -> bool:
        self._aws.has_stack = True
        return self._run("deploy", *stacks)

    def publish_assets(self, _: Path, *stacks: str) -> bool:
        return self._run("publish-assets", *stacks)

    def _run(self, *what: str) -> bool:
        self.runs.append(what)
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
    monkeypatch.setattr(smoke, "served", lambda *_: {})
    monkeypatch.setattr(deployment, "newest_events", lambda *_: {})
    monkeypatch.setattr(deployment, "reasons_since", lambda *_: ["models: no"])
    return fake


@pytest.fixture
def delivered(aws: FakeAws, tmp_path: Path) -> Deployment:
    for name in ("text", "vision"):
        path = tmp_path / f"prod-{name}.template.json"
        path.write_text(json.dumps(endpoint_stack(name)))
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
            "WaitMinutes": "220",
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


@pytest.mark.parametrize(("fails", "said"), [("deploy", "models: no"), ("publish-assets", "CLI")])
def test_what_cannot_be_deployed_or_published_is_not_built(
    fails: str, said: str, aws: FakeAws, cli: FakeCdk, delivered: Deployment
) -> None:
    cli.fails = fails
    with pytest.raises(NotDelivered, match=said):
        delivered.build()
    assert aws.built == []
