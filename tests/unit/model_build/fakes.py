"""Fake AWS clients and recorded build progress."""

import hashlib
import io
import itertools
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from model_build import BuildTarget
from model_build.engines.accepted_results import FolderResultStore
from model_build.engines.local_gpu import LocalGpu
from model_build.engines.provider import Engines
from model_build.export.step import StepContext
from plan.archives import ArchiveBucket

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sagemaker import SageMakerClient

PAGE = 2
"""Items on a page: few, so that code that reads only the first page fails its test."""


def step_context(folder: Path, **overrides: Any) -> StepContext:
    """Return the context of a build of `folder` for cpu-24.09 without weights and engines."""
    defaults: dict[str, Any] = {
        "model_folder": folder,
        "weights": None,
        "seed": 0,
        "target": BuildTarget(release="24.09"),
        "scratch": folder,
        "progress": ProgressLines(),
        "engines": no_engines(),
    }
    return StepContext(**{**defaults, **overrides})


def no_engines() -> Engines:
    """Return the engine provider of a machine without a GPU and without accepted engines."""
    return Engines(FolderResultStore(Path("nowhere")), LocalGpu())


class ProgressLines(list[str]):
    """Progress messages of a build, recorded."""

    def __call__(self, line: str, /) -> None:
        self.append(line)


class _Paginator:
    """Paginator of `list_items(request)`; an empty response has no list."""

    def __init__(
        self, key: str, list_items: Callable[[dict[str, Any]], list[dict[str, Any]]]
    ) -> None:
        self._key, self._list_items = key, list_items

    def paginate(self, **request: Any) -> Iterator[dict[str, Any]]:
        items = self._list_items(request)
        for start in range(0, max(len(items), 1), PAGE):
            page = items[start : start + PAGE]
            yield {self._key: page} if page else {}


class FakeS3:
    """S3 client with one bucket, for the operations that model_build calls.

    `objects` maps keys to objects, `unfinished` upload IDs to multipart uploads that were neither
    completed nor aborted; `calls` has the names of the operations in order. `hooks` maps the name
    of an operation to a function that is called with the request before the operation: it can
    raise, or write an object as a concurrent client would.
    """

    def __init__(self, name: str = "bucket") -> None:
        self.name = name
        self.objects: dict[str, dict[str, Any]] = {}
        self.unfinished: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.hooks: dict[str, Callable[[dict[str, Any]], None]] = {}
        self._ids = itertools.count(1)

    @property
    def client(self) -> "S3Client":
        """Return the fake with the type of the boto3 client."""
        return cast("S3Client", self)

    @property
    def bucket(self) -> ArchiveBucket:
        """Return the bucket."""
        return ArchiveBucket(self.client, self.name)

    def create_multipart_upload(self, **request: Any) -> dict[str, Any]:
        self._record("CreateMultipartUpload", request)
        upload = f"upload-{next(self._ids)}"
        self.unfinished[upload] = {**request, "Parts": {}}
        return {"UploadId": upload}

    def upload_part(self, **request: Any) -> dict[str, Any]:
        self._record("UploadPart", request)
        body: bytes = request["Body"]
        part = {
            "ETag": f'"{hashlib.md5(body).hexdigest()}"',
            "ChecksumSHA256": b64encode(hashlib.sha256(body).digest()).decode(),
        }
        upload = self.unfinished[request["UploadId"]]
        assert upload["ChecksumAlgorithm"] == "SHA256"
        if request["ChecksumSHA256"] != part["ChecksumSHA256"]:
            raise client_error("UploadPart", "BadDigest")
        upload["Parts"][request["PartNumber"]] = (part, body)
        return part

    def complete_multipart_upload(self, **request: Any) -> dict[str, Any]:
        self._record("CompleteMultipartUpload", request)
        self._require_absent("CompleteMultipartUpload", request)
        upload = self.unfinished[request["UploadId"]]
        parts = request["MultipartUpload"]["Parts"]
        numbers = [part["PartNumber"] for part in parts]
        if numbers != sorted(upload["Parts"]):
            raise client_error("CompleteMultipartUpload", "InvalidPartOrder")
        for part in parts:
            if {k: v for k, v in part.items() if k != "PartNumber"} != upload["Parts"][
                part["PartNumber"]
            ][0]:
                raise client_error("CompleteMultipartUpload", "InvalidPart")
        bodies = [upload["Parts"][number][1] for number in numbers]
        del self.unfinished[request["UploadId"]]
        digests = b"".join(hashlib.sha256(body).digest() for body in bodies)
        composite = f"{b64encode(hashlib.sha256(digests).digest()).decode()}-{len(bodies)}"
        self.objects[request["Key"]] = {"Body": b"".join(bodies), "ChecksumSHA256": composite}
        return {}

    def abort_multipart_upload(self, **request: Any) -> dict[str, Any]:
        self._record("AbortMultipartUpload", request)
        if request["UploadId"] not in self.unfinished:
            raise client_error("AbortMultipartUpload", "NoSuchUpload")
        del self.unfinished[request["UploadId"]]
        return {}

    def put_object(self, **request: Any) -> dict[str, Any]:
        self._record("PutObject", request)
        self._require_absent("PutObject", request)
        self.objects[request["Key"]] = {"Body": request["Body"]}
        return {}

    def head_object(self, **request: Any) -> dict[str, Any]:
        self._record("HeadObject", request)
        if request["Key"] not in self.objects:
            raise client_error("HeadObject", "404")
        return self.objects[request["Key"]]

    def get_object(self, **request: Any) -> dict[str, Any]:
        self._record("GetObject", request)
        if request["Key"] not in self.objects:
            raise client_error("GetObject", "NoSuchKey")
        body: bytes = self.objects[request["Key"]]["Body"]
        return {"Body": StreamingBody(io.BytesIO(body), len(body))}

    def download_file(self, bucket: str, key: str, to: str) -> None:
        content = self.get_object(Bucket=bucket, Key=key)["Body"].read()
        with open(to, "wb") as file:  # noqa: PTH123
            file.write(content)

    def upload_file(self, path: str, bucket: str, key: str) -> None:
        self._record("PutObject", {"Bucket": bucket, "Key": key})
        self.objects[key] = {"Body": Path(path).read_bytes()}

    def list_objects_v2(self, **request: Any) -> dict[str, Any]:
        self._record("ListObjectsV2", request)
        contents = self._list_objects(request)
        return {"KeyCount": len(contents), **({"Contents": contents} if contents else {})}

    def delete_object(self, **request: Any) -> dict[str, Any]:
        self._record("DeleteObject", request)
        self.objects.pop(request["Key"], None)
        return {}

    def get_paginator(self, operation: str) -> _Paginator:
        return {
            "list_multipart_uploads": _Paginator("Uploads", self._list_multipart_uploads),
            "list_objects_v2": _Paginator("Contents", self._list_objects),
        }[operation]

    def _list_objects(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {"Key": key, "LastModified": datetime.now(UTC)}
            for key in sorted(self.objects)
            if key.startswith(request["Prefix"])
        ]

    def _list_multipart_uploads(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        self._record("ListMultipartUploads", request)
        return [
            {"Key": upload["Key"], "UploadId": upload_id}
            for upload_id, upload in self.unfinished.items()
            if upload["Key"].startswith(request["Prefix"])
        ]

    def _record(self, operation: str, request: dict[str, Any]) -> None:
        assert request["Bucket"] == self.name
        self.calls.append(operation)
        if operation in self.hooks:
            self.hooks[operation](request)

    def _require_absent(self, operation: str, request: dict[str, Any]) -> None:
        assert request["IfNoneMatch"] == "*"
        if request["Key"] in self.objects:
            raise client_error(operation, "PreconditionFailed")


def client_error(operation: str, code: str) -> ClientError:
    """Return the error that botocore raises for an error code of AWS."""
    return ClientError({"Error": {"Code": code, "Message": "no"}}, operation)


class FakeSts:
    """STS client of one IAM user."""

    def get_caller_identity(self) -> dict[str, str]:
        return {"Arn": "arn:aws:iam::123456789012:user/ada"}


class FakeSageMaker:
    """SageMaker client: `endpoints` maps names to one container per variant.

    A variant of inference components has None. `pending` is added to DescribeEndpoint.
    """

    def __init__(self) -> None:
        self.endpoints: dict[str, list[dict[str, Any] | None]] = {}
        self.status = "InService"
        self.pending: dict[str, Any] = {}

    @property
    def client(self) -> "SageMakerClient":
        """Return the fake with the type of the boto3 client."""
        return cast("SageMakerClient", self)

    def host(self, endpoint: str, *urls: str, image: str = "tritonserver:25.09-py3") -> None:
        """Deploy a multi-model endpoint with one variant per S3 prefix."""
        container = {"Mode": "MultiModel", "Image": image}
        self.endpoints[endpoint] = [{**container, "ModelDataUrl": url} for url in urls]

    def describe_endpoint(self, **request: Any) -> dict[str, Any]:
        name = request["EndpointName"]
        if name not in self.endpoints:
            raise client_error("DescribeEndpoint", "ValidationException")
        return {
            "EndpointConfigName": f"config of {name}",
            "EndpointName": name,
            "EndpointStatus": self.status,
            **self.pending,
        }

    def describe_endpoint_config(self, **request: Any) -> dict[str, Any]:
        name = request["EndpointConfigName"].removeprefix("config of ")
        containers = enumerate(self.endpoints[name])
        variants = [
            {"ModelName": f"{name}:{n}"} if container else {} for n, container in containers
        ]
        return {"ProductionVariants": variants}

    def describe_model(self, **request: Any) -> dict[str, Any]:
        name, _, variant = request["ModelName"].rpartition(":")
        return {"PrimaryContainer": self.endpoints[name][int(variant)]}


class FakeCloudFormation:
    """CloudFormation client: `stacks` maps names to statuses."""

    def __init__(self) -> None:
        self.stacks: dict[str, str] = {}

    @property
    def client(self) -> "CloudFormationClient":
        """Return the fake with the type of the boto3 client."""
        return cast("CloudFormationClient", self)

    def describe_stacks(self, **request: Any) -> dict[str, Any]:
        if request["StackName"] not in self.stacks:
            raise client_error("DescribeStacks", "ValidationError")
        return {"Stacks": [{"StackStatus": self.stacks[request["StackName"]]}]}
