"""What stands in for AWS and for a terminal."""

import hashlib
import io
import itertools
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from model_build import BuildTarget
from model_build.engines.accepted_results import FolderResults
from model_build.engines.local_gpu import LocalGpu
from model_build.engines.provider import Engines
from model_build.export.step import StepContext

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_ssm import SSMClient

PAGE = 2
"""AWS's pages are longer; what reads only the first is seen with short ones."""


def step_context(folder: Path, **more: Any) -> StepContext:
    """A build of the recipe in `folder` for the CPU of Triton 24.09, but for what `more` says."""
    usual: dict[str, Any] = {
        "model_folder": folder,
        "weights": None,
        "seed": 0,
        "target": BuildTarget(release="24.09"),
        "scratch": folder,
        "progress": Lines(),
        "engines": no_engines(),
    }
    return StepContext(**{**usual, **more})


def no_engines() -> Engines:
    """Engines of a machine without a GPU: for builds that need none."""
    return Engines(FolderResults(Path("nowhere")), LocalGpu())


class Lines(list[str]):
    """Progress of a build, kept."""

    def __call__(self, line: str, /) -> None:
        self.append(line)


class _Pages:
    """A paginator over everything that `of` returns. S3's XML has no empty lists, JSON has."""

    def __init__(
        self, key: str, of: Callable[[dict[str, Any]], list[dict[str, Any]]], *, xml: bool = False
    ) -> None:
        self._key, self._of, self._xml = key, of, xml

    def paginate(self, **request: Any) -> Iterator[dict[str, Any]]:
        result = self._of(request)
        for start in range(0, max(len(result), 1), PAGE):
            page = result[start : start + PAGE]
            yield {} if self._xml and not page else {self._key: page}


class FakeS3:
    """What S3 does with the calls that publishing makes, for one bucket `bucket`.

    `objects` is what stands there, `unfinished` the multipart uploads that were neither completed
    nor aborted, `calls` the operations in order. A function put into `before` under an operation's
    name runs first, with the call's arguments: it can fail, or let somebody else write.
    """

    class exceptions:  # noqa: N801
        class NoSuchKey(ClientError):
            pass

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.unfinished: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.before: dict[str, Callable[[dict[str, Any]], None]] = {}
        self._ids = itertools.count(1)

    @property
    def client(self) -> "S3Client":
        """Itself, as boto3 types it."""
        return cast("S3Client", self)

    def create_multipart_upload(self, **request: Any) -> dict[str, Any]:
        self._begin("CreateMultipartUpload", request)
        upload = f"upload-{next(self._ids)}"
        self.unfinished[upload] = {**request, "Parts": {}}
        return {"UploadId": upload}

    def upload_part(self, **request: Any) -> dict[str, Any]:
        self._begin("UploadPart", request)
        body: bytes = request["Body"]
        part = {
            "ETag": f'"{hashlib.md5(body).hexdigest()}"',
            "ChecksumSHA256": b64encode(hashlib.sha256(body).digest()).decode(),
        }
        upload = self.unfinished[request["UploadId"]]
        assert upload["ChecksumAlgorithm"] == "SHA256"
        if request["ChecksumSHA256"] != part["ChecksumSHA256"]:
            raise refusal("UploadPart", "BadDigest")
        upload["Parts"][request["PartNumber"]] = (part, body)
        return part

    def complete_multipart_upload(self, **request: Any) -> dict[str, Any]:
        self._begin("CompleteMultipartUpload", request)
        self._only_if_new("CompleteMultipartUpload", request)
        upload = self.unfinished[request["UploadId"]]
        parts = request["MultipartUpload"]["Parts"]
        numbers = [part["PartNumber"] for part in parts]
        if numbers != sorted(upload["Parts"]):
            raise refusal("CompleteMultipartUpload", "InvalidPartOrder")
        for part in parts:
            if {k: v for k, v in part.items() if k != "PartNumber"} != upload["Parts"][
                part["PartNumber"]
            ][0]:
                raise refusal("CompleteMultipartUpload", "InvalidPart")
        bodies = [upload["Parts"][number][1] for number in numbers]
        del self.unfinished[request["UploadId"]]
        self._store(request["Key"], b"".join(bodies), upload)
        digests = b"".join(hashlib.sha256(body).digest() for body in bodies)
        composite = f"{b64encode(hashlib.sha256(digests).digest()).decode()}-{len(bodies)}"
        self.objects[request["Key"]]["ChecksumSHA256"] = composite
        return {}

    def abort_multipart_upload(self, **request: Any) -> dict[str, Any]:
        self._begin("AbortMultipartUpload", request)
        if request["UploadId"] not in self.unfinished:
            raise refusal("AbortMultipartUpload", "NoSuchUpload")
        del self.unfinished[request["UploadId"]]
        return {}

    def put_object(self, **request: Any) -> dict[str, Any]:
        self._begin("PutObject", request)
        self._only_if_new("PutObject", request)
        self._store(request["Key"], request["Body"], request)
        return {}

    def head_object(self, **request: Any) -> dict[str, Any]:
        self._begin("HeadObject", request)
        if request["Key"] not in self.objects:
            raise refusal("HeadObject", "404")
        return self.objects[request["Key"]]

    def get_object(self, **request: Any) -> dict[str, Any]:
        self._begin("GetObject", request)
        if request["Key"] not in self.objects:
            raise self.exceptions.NoSuchKey({"Error": {"Code": "NoSuchKey"}}, "GetObject")
        body: bytes = self.objects[request["Key"]]["Body"]
        return {"Body": StreamingBody(io.BytesIO(body), len(body))}

    def download_file(self, bucket: str, key: str, to: str) -> None:
        content = self.get_object(Bucket=bucket, Key=key)["Body"].read()
        with open(to, "wb") as file:  # noqa: PTH123
            file.write(content)

    def upload_file(self, path: str, bucket: str, key: str) -> None:
        """Write a file, over what is there: only names that follow from content are written so."""
        self._begin("PutObject", {"Bucket": bucket, "Key": key})
        self._store(key, Path(path).read_bytes(), {})

    def list_objects_v2(self, **request: Any) -> dict[str, Any]:
        self._begin("ListObjectsV2", request)
        result = self._below(request)
        return {"KeyCount": len(result), **({"Contents": result} if result else {})}

    def delete_object(self, **request: Any) -> dict[str, Any]:
        self._begin("DeleteObject", request)
        self.objects.pop(request["Key"], None)
        return {}

    def get_paginator(self, operation: str) -> _Pages:
        return {
            "list_multipart_uploads": _Pages("Uploads", self._list_multipart_uploads, xml=True),
            "list_objects_v2": _Pages("Contents", self._below, xml=True),
        }[operation]

    def _below(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"Key": key} for key in sorted(self.objects) if key.startswith(request["Prefix"])]

    def _list_multipart_uploads(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        self._begin("ListMultipartUploads", request)
        return [
            {"Key": upload["Key"], "UploadId": upload_id}
            for upload_id, upload in self.unfinished.items()
            if upload["Key"].startswith(request["Prefix"])
        ]

    def _begin(self, operation: str, request: dict[str, Any]) -> None:
        assert request["Bucket"] == "bucket"
        self.calls.append(operation)
        if operation in self.before:
            self.before[operation](request)

    def _only_if_new(self, operation: str, request: dict[str, Any]) -> None:
        assert request["IfNoneMatch"] == "*"  # or it could write over an object
        if request["Key"] in self.objects:
            raise refusal(operation, "PreconditionFailed")

    def _store(self, key: str, body: bytes, request: dict[str, Any]) -> None:
        self.objects[key] = {
            "Body": body,
            "ContentType": request.get("ContentType", "binary/octet-stream"),
        }


def refusal(operation: str, code: str) -> ClientError:
    """The error that botocore raises for S3's answer `code`."""
    return ClientError({"Error": {"Code": code, "Message": "no"}}, operation)


class FakeSsm:
    """Parameter Store: `history` is every value that a parameter had, the first one first.

    `descriptions` are those that commands wrote with values: a deploy's say nothing.
    """

    class exceptions:  # noqa: N801
        class ParameterNotFound(ClientError):
            pass

    def __init__(self) -> None:
        self.history: dict[str, list[str]] = {}
        self.descriptions: dict[tuple[str, int], str] = {}
        self.writes: list[dict[str, Any]] = []

    @property
    def client(self) -> "SSMClient":
        """Itself, as boto3 types it."""
        return cast("SSMClient", self)

    def put(self, name: str, entry: dict[str, Any]) -> None:
        """Give a parameter a value, as a deploy does."""
        self.history.setdefault(name, []).append(json.dumps(entry))

    def current(self, name: str) -> Any:
        """What a parameter says now."""
        return json.loads(self.history[name][-1])

    def get_paginator(self, operation: str) -> _Pages:
        return {
            "get_parameters_by_path": _Pages("Parameters", self._by_path),
            "get_parameter_history": _Pages("Parameters", self._versions),
        }[operation]

    def put_parameter(self, **request: Any) -> dict[str, Any]:
        assert request["Overwrite"]
        assert request["Type"] == "String"
        self.writes.append(request)
        values = self.history.setdefault(request["Name"], [])
        values.append(request["Value"])
        self.descriptions[request["Name"], len(values)] = request["Description"]
        return {}

    def get_parameter(self, **request: Any) -> dict[str, Any]:
        if request["Name"] not in self.history:
            error: Any = {"Error": {"Code": "ParameterNotFound"}}
            raise self.exceptions.ParameterNotFound(error, "GetParameter")
        values = self.history[request["Name"]]
        return {"Parameter": {"Value": values[-1], "Version": len(values)}}

    def _by_path(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        below = f"{request['Path']}/"
        return [
            {"Name": name, "Value": values[-1]}
            for name, values in self.history.items()
            if name.startswith(below) and "/" not in name.removeprefix(below)
        ]

    def _versions(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        name = request["Name"]
        return [
            {
                "Version": number,
                "Value": value,
                "Description": self.descriptions.get((name, number), "Current archive of a model"),
            }
            for number, value in enumerate(self.history[name], 1)
        ]


class FakeSts:
    """A caller."""

    def get_caller_identity(self) -> dict[str, str]:
        return {"Arn": "arn:aws:iam::123456789012:user/ada"}


class FakeSageMaker:
    """Endpoints by name: the container of each variant's model, None for components."""

    def __init__(self) -> None:
        self.endpoints: dict[str, list[dict[str, Any] | None]] = {}
        self.status = "InService"
        self.pending: dict[str, Any] = {}

    @property
    def client(self) -> "SageMakerClient":
        """Itself, as boto3 types it."""
        return cast("SageMakerClient", self)

    def host(self, endpoint: str, *urls: str) -> None:
        """Deploy a multi-model endpoint with a variant for each prefix."""
        self.endpoints[endpoint] = [{"Mode": "MultiModel", "ModelDataUrl": url} for url in urls]

    def describe_endpoint(self, **request: Any) -> dict[str, Any]:
        name = request["EndpointName"]
        if name not in self.endpoints:
            raise refusal("DescribeEndpoint", "ValidationException")
        return {
            "EndpointConfigName": f"config of {name}",
            "EndpointName": name,
            "EndpointStatus": self.status,
            **self.pending,
        }

    def describe_endpoint_config(self, **request: Any) -> dict[str, Any]:
        name = request["EndpointConfigName"].removeprefix("config of ")
        containers = enumerate(self.endpoints[name])
        variants = [{"ModelName": f"{name}:{n}"} if each else {} for n, each in containers]
        return {"ProductionVariants": variants}

    def describe_model(self, **request: Any) -> dict[str, Any]:
        name, _, variant = request["ModelName"].rpartition(":")
        return {"PrimaryContainer": self.endpoints[name][int(variant)]}


class FakeCloudFormation:
    """Stacks by name: their statuses."""

    def __init__(self) -> None:
        self.stacks: dict[str, str] = {}

    @property
    def client(self) -> "CloudFormationClient":
        """Itself, as boto3 types it."""
        return cast("CloudFormationClient", self)

    def describe_stacks(self, **request: Any) -> dict[str, Any]:
        if request["StackName"] not in self.stacks:
            raise refusal("DescribeStacks", "ValidationError")
        return {"Stacks": [{"StackStatus": self.stacks[request["StackName"]]}]}
