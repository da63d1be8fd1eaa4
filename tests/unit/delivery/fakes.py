"""Fakes of an AWS account and of the cdk CLI, and the templates of the stage prod."""

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from delivery.cdk import CdkResult
from plan.document import ENDPOINT_KEY, PlannedEndpoint, PlannedPool
from tests.unit.plan.plans import make_endpoint, make_model, make_variant

EXPORT = "prod-models:ExportsOutputRefModelsBucket1"
EXPIRED = ClientError(
    {"Error": {"Code": "ExpiredTokenException", "Message": "expired"}}, "DescribeStacks"
)
OUTPUTS = {
    "ExportsOutputRefModelsBucket1": "bucket",
    "StartFunction": "start",
    "PollFunction": "poll",
}
OLD_PREFIX, NEW_PREFIX = "text/cpu-24.09/", "text/cpu-25.04/"
ARCHIVE, OLD_ARCHIVE = "model-aaaaaaaaaaaa.tar.gz", "before-0123456789ab.tar.gz"


class FakeAws:
    """A boto3 session and all its clients: a bucket with `objects`, and stacks with one `template`.

    Each DescribeStacks returns the next of `statuses`, then UPDATE_COMPLETE; each DescribeEndpoint
    the next of `endpoint_statuses`, then InService.
    """

    region_name = "us-east-1"

    def __init__(self) -> None:
        self.objects: set[str] = set()
        self.replaced: set[str] = set()
        self.written: dict[str, bytes] = {}
        self.template: dict[str, Any] = {}
        self.has_stack = True
        self.statuses: list[str] = []
        self.endpoint_statuses: list[str] = []
        self.error: Exception | None = None
        self.started_builds: list[dict[str, str]] = []
        self.manifest = b'{"archive": {"checksum": ""}}'
        self.lambda_quota = 1000
        self.build_error = ""

    def client(self, _: str) -> "FakeAws":
        return self

    def get_caller_identity(self) -> dict[str, str]:
        return {"Account": "123456789012"}

    def describe_stacks(self, **_: str) -> dict[str, Any]:
        if not self.has_stack:
            raise ClientError({"Error": {"Code": "ValidationError"}}, "DescribeStacks")
        if self.error:
            raise self.error
        status = self.statuses.pop(0) if self.statuses else "UPDATE_COMPLETE"
        outputs = [{"OutputKey": name, "OutputValue": value} for name, value in OUTPUTS.items()]
        return {"Stacks": [{"Outputs": outputs, "StackStatus": status}]}

    def get_template(self, **_: str) -> dict[str, Any]:
        return {"TemplateBody": self.template}

    def describe_endpoint(self, **_: str) -> dict[str, str]:
        return {
            "EndpointStatus": self.endpoint_statuses.pop(0)
            if self.endpoint_statuses
            else "InService"
        }

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        assert Bucket == "bucket"
        if Key not in self.objects:
            raise ClientError({"Error": {"Code": "NoSuchKey"}}, "GetObject")
        return {"Body": StreamingBody(io.BytesIO(self.manifest), len(self.manifest))}

    def head_object(self, *, Bucket: str, Key: str, ChecksumMode: str) -> dict[str, Any]:  # noqa: N803
        assert ChecksumMode == "ENABLED"
        self.get_object(Bucket=Bucket, Key=Key.replace(".tar.gz", ".json"))
        return {}

    def put_object(self, *, Bucket: str, Key: str, Body: bytes, **_: str) -> None:  # noqa: N803
        assert Bucket == "bucket"
        self.written[Key] = Body

    def get_paginator(self, operation: str) -> "FakeAws":
        assert operation == "list_objects_v2"
        return self

    def paginate(self, *, Bucket: str, Prefix: str) -> Iterator[dict[str, Any]]:  # noqa: N803
        """Yield pages with manifests, and archives that are older."""
        assert Bucket == "bucket"
        for key in self.objects:
            archive = key.replace(".json", ".tar.gz")
            times = {key: 2, archive: 3 if archive in self.replaced else 1}
            yield {
                "Contents": [
                    {"Key": name, "LastModified": datetime.fromtimestamp(time, UTC)}
                    for name, time in times.items()
                    if name.startswith(Prefix)
                ]
            }

    def get_account_settings(self) -> dict[str, Any]:
        return {"AccountLimit": {"ConcurrentExecutions": self.lambda_quota}}

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:  # noqa: N803
        if FunctionName == "start":
            self.started_builds.append(json.loads(Payload)["ResourceProperties"])
        elif self.build_error:
            failed = json.dumps({"errorMessage": self.build_error}).encode()
            return {"FunctionError": "Unhandled", "Payload": io.BytesIO(failed)}
        return {"Payload": io.BytesIO(b'{"IsComplete": true}')}


class FakeCdk:
    """A fake cdk CLI; `runs` has its commands with their stacks.

    The command `failing_command` fails, and the deploys with the numbers in `failing_deploys`; the
    others set the deployed template. After a run, DescribeStacks returns `statuses_after`, and AWS
    calls raise `error_after`.
    """

    def __init__(self, aws: FakeAws) -> None:
        self._aws = aws
        self.runs: list[tuple[str, ...]] = []
        self.concurrency = 0
        self.failing_command = ""
        self.error_lines: tuple[str, ...] = ("the CLI: no",)
        self.failing_deploys: set[int] = set()
        self.statuses_after: list[str] = []
        self.error_after: BaseException | None = None

    def deploy(self, folder: Path, *stacks: str, concurrency: int, **__: bool) -> CdkResult:
        self.concurrency = concurrency
        self._aws.has_stack = True
        result = self._run("deploy", *stacks)
        if len(self.runs) in self.failing_deploys:
            return CdkResult(succeeded=False, error_lines=("prod-text: no GPU",))
        self._aws.template = json.loads((folder / f"{stacks[-1]}.template.json").read_text())
        return result

    def publish_assets(self, _: Path, *stacks: str) -> CdkResult:
        return self._run("publish-assets", *stacks)

    def _run(self, command: str, *stacks: str) -> CdkResult:
        self.runs.append((command, *stacks))
        if isinstance(self.error_after, KeyboardInterrupt):
            raise self.error_after
        self._aws.statuses = list(self.statuses_after)
        self._aws.error = cast(Exception | None, self.error_after)
        return CdkResult(self.failing_command != command, self.error_lines)


MODELS_STACK: dict[str, Any] = {"Resources": {"Bucket": {"Type": "AWS::S3::Bucket"}}}


def endpoint_stack(name: str) -> dict[str, Any]:
    assets = {"Fn::Sub": "assets-${AWS::AccountId}-${AWS::Region}"}
    return {
        "Resources": {
            "Archives": {
                "Type": "Custom::TritonModels",
                "Properties": {
                    "ServiceToken": {"Fn::ImportValue": "prod-models:Provider"},
                    "List": {"Fn::Join": ["", [assets, f"/{name}.jsonl"]]},
                    "Digest": "e" * 64,
                    "Bucket": {"Fn::ImportValue": EXPORT},
                    "WaitMinutes": "50",
                },
            }
        }
    }


def stack_with_prefix(prefix: str) -> dict[str, Any]:
    """Return the stack of `text` with an endpoint that loads from a prefix."""
    template = endpoint_stack("text")
    template["Metadata"] = {ENDPOINT_KEY: endpoint_with_prefix(prefix).settings.metadata()}
    return template


def endpoint_with_prefix(prefix: str) -> PlannedEndpoint:
    """Return the planned endpoint of that stack."""
    pool = PlannedPool(instance_type="ml.m5.xlarge", prefix=prefix, target="cpu")
    return make_endpoint(
        models={"model": make_model("model", prefix=prefix)},
        variants={"AllTraffic": make_variant(pools=(pool,))},
    )
