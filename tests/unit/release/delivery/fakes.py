"""An account, and the cdk CLI, in memory: what `prod` is of two endpoints, one of which moves."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from cdk_cli import CdkResult

EXPORT = "prod-models:ExportsOutputRefModelsBucket1"
EXPIRED = ClientError(
    {"Error": {"Code": "ExpiredTokenException", "Message": "expired"}}, "DescribeStacks"
)
OUTPUTS = {
    "ExportsOutputRefModelsBucket1": "bucket",
    "StartFunction": "start",
    "PollFunction": "poll",
}


OLD, NEW, ARCHIVE = "text/cpu-24.09/", "text/cpu-25.04/", "model.tar.gz"
BEFORE = "before-0123456789ab.tar.gz"


class FakeAws:
    """A session and all its clients. `objects` are in the bucket, `template` is every stack's.

    `statuses` are those of the stack, one for each time that it is described, then it is at rest.
    So are those of its `endpoint`.
    """

    region_name = "us-east-1"

    def __init__(self) -> None:
        self.objects: set[str] = set()
        self.template: dict[str, Any] = {}
        self.has_stack = True
        self.statuses: list[str] = []
        self.endpoint: list[str] = []
        self.refuses: Exception | None = None
        self.built: list[dict[str, str]] = []
        self.manifest = b'{"archive": {"checksum": ""}}'
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
        outputs = [{"OutputKey": name, "OutputValue": each} for name, each in OUTPUTS.items()]
        return {"Stacks": [{"Outputs": outputs, "StackStatus": status}]}

    def get_template(self, **_: str) -> dict[str, Any]:
        return {"TemplateBody": self.template}

    def describe_endpoint(self, **_: str) -> dict[str, str]:
        return {"EndpointStatus": self.endpoint.pop(0) if self.endpoint else "InService"}

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        assert Bucket == "bucket"
        if Key not in self.objects:
            raise ClientError({"Error": {"Code": "NoSuchKey"}}, "GetObject")
        return {"Body": StreamingBody(io.BytesIO(self.manifest), len(self.manifest))}

    def head_object(self, *, Bucket: str, Key: str, ChecksumMode: str) -> dict[str, Any]:  # noqa: N803
        assert ChecksumMode == "ENABLED"
        self.get_object(Bucket=Bucket, Key=Key.replace(".tar.gz", ".json"))
        return {}

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:  # noqa: N803
        assert FunctionName == "start"
        self.built.append(json.loads(Payload)["ResourceProperties"])
        if self.fails:
            body = json.dumps({"errorMessage": self.fails}).encode()
            return {"Payload": StreamingBody(io.BytesIO(body), len(body)), "FunctionError": ""}
        return {"Payload": StreamingBody(io.BytesIO(b"{}"), 2)}


class FakeSsm:
    """The parameter that lists the deliveries to prod: `values` are its versions."""

    class exceptions:  # noqa: N801
        class ParameterNotFound(ClientError):
            pass

    def __init__(self) -> None:
        self.values: list[str] = []
        self.before_put: list[Callable[[], object]] = []

    def get_parameter(self, *, Name: str) -> dict[str, Any]:  # noqa: N803
        assert Name == "/triton/prod/delivered"
        if not self.values:
            error: Any = {"Error": {"Code": "ParameterNotFound", "Message": Name}}
            raise self.exceptions.ParameterNotFound(error, "GetParameter")
        return {"Parameter": {"Value": self.values[-1]}}

    def put_parameter(self, **parameter: Any) -> None:
        if self.before_put:
            self.before_put.pop()()
        assert len(parameter["Value"]) <= 4096
        self.values.append(parameter["Value"])


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

    def deploy(self, _: Path, *stacks: str, **__: bool) -> CdkResult:
        self._aws.has_stack = True
        return self._run("deploy", *stacks)

    def publish_assets(self, _: Path, *stacks: str) -> CdkResult:
        return self._run("publish-assets", *stacks)

    def _run(self, *what: str) -> CdkResult:
        self.runs.append(what)
        if isinstance(self.then, KeyboardInterrupt):
            raise self.then
        self._aws.statuses = list(self.leaves)
        self._aws.refuses = cast(Exception | None, self.then)
        return CdkResult(self.fails != what[0], ("the CLI: no",))


MODELS_STACK: dict[str, Any] = {"Resources": {"Bucket": {"Type": "AWS::S3::Bucket"}}}


def endpoint_stack(name: str) -> dict[str, Any]:
    sources = {"Fn::Sub": "assets-${AWS::AccountId}-${AWS::Region}"}
    return {
        "Resources": {
            "Model": {
                "Type": "Custom::TritonModel",
                "Properties": {
                    "ServiceToken": {"Fn::ImportValue": "prod-models:Provider"},
                    "Key": f"{name}/model.tar.gz",
                    "Digest": "e" * 64,
                    "Bucket": {"Fn::ImportValue": EXPORT},
                    "Source": {"Fn::Join": ["", [sources, "/source.zip"]]},
                    "WaitMinutes": "50",
                },
            }
        }
    }


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
