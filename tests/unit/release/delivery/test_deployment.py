"""What is built before anything changes that serves."""

import io
import json
from pathlib import Path
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
        return {"Body": StreamingBody(io.BytesIO(b"{}"), 2)}

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:  # noqa: N803
        assert FunctionName == "start"
        self.built.append(json.loads(Payload)["ResourceProperties"])
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


@pytest.mark.parametrize(("fails", "said"), [("deploy", "models: no"), ("publish-assets", "CLI")])
def test_what_cannot_be_deployed_or_published_is_not_built(
    fails: str, said: str, aws: FakeAws, cli: FakeCdk, delivered: Deployment
) -> None:
    cli.fails = fails
    with pytest.raises(NotDelivered, match=said):
        delivered.build()
    assert aws.built == []
