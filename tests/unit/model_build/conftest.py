"""Small model folders, and an S3 in memory."""

import binascii
import hashlib
import itertools
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from botocore.exceptions import ClientError

from model_build.repository import CONFIG, Repository

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

WriteFiles = Callable[[Path, dict[str, str]], Path]
WriteConfigs = Callable[..., Repository]


class FakeS3:
    """What S3 does with the calls that publishing makes, for one bucket `bucket`.

    `objects` is what stands there, `unfinished` the multipart uploads that were neither completed
    nor aborted, `calls` the operations in order. A function put into `before` under an operation's
    name runs first, with the call's arguments: it can fail, or let somebody else write.
    """

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

    def create_multipart_upload(self, **asked: Any) -> dict[str, Any]:
        self._begin("CreateMultipartUpload", asked)
        upload = f"upload-{next(self._ids)}"
        self.unfinished[upload] = {**asked, "Parts": {}}
        return {"UploadId": upload}

    def upload_part(self, **asked: Any) -> dict[str, Any]:
        self._begin("UploadPart", asked)
        body: bytes = asked["Body"]
        part = {
            "ETag": f'"{hashlib.md5(body).hexdigest()}"',
            "ChecksumCRC32": b64encode(binascii.crc32(body).to_bytes(4, "big")).decode(),
        }
        upload = self.unfinished[asked["UploadId"]]
        assert asked["ChecksumAlgorithm"] == upload["ChecksumAlgorithm"]
        upload["Parts"][asked["PartNumber"]] = (part, body)
        return part

    def complete_multipart_upload(self, **asked: Any) -> dict[str, Any]:
        self._begin("CompleteMultipartUpload", asked)
        self._only_if_new("CompleteMultipartUpload", asked)
        upload = self.unfinished[asked["UploadId"]]
        parts = asked["MultipartUpload"]["Parts"]
        numbers = [part["PartNumber"] for part in parts]
        if numbers != sorted(upload["Parts"]):
            raise refusal("CompleteMultipartUpload", "InvalidPartOrder")
        for part in parts:
            if {k: v for k, v in part.items() if k != "PartNumber"} != upload["Parts"][
                part["PartNumber"]
            ][0]:
                raise refusal("CompleteMultipartUpload", "InvalidPart")
        body = b"".join(upload["Parts"][number][1] for number in numbers)
        del self.unfinished[asked["UploadId"]]
        self._store(asked["Key"], body, upload)
        return {}

    def abort_multipart_upload(self, **asked: Any) -> dict[str, Any]:
        self._begin("AbortMultipartUpload", asked)
        if asked["UploadId"] not in self.unfinished:
            raise refusal("AbortMultipartUpload", "NoSuchUpload")
        del self.unfinished[asked["UploadId"]]
        return {}

    def put_object(self, **asked: Any) -> dict[str, Any]:
        self._begin("PutObject", asked)
        self._only_if_new("PutObject", asked)
        self._store(asked["Key"], asked["Body"], asked)
        return {}

    def head_object(self, **asked: Any) -> dict[str, Any]:
        self._begin("HeadObject", asked)
        if asked["Key"] not in self.objects:
            raise refusal("HeadObject", "404")
        return self.objects[asked["Key"]]

    def _begin(self, operation: str, asked: dict[str, Any]) -> None:
        assert asked["Bucket"] == "bucket"
        self.calls.append(operation)
        if operation in self.before:
            self.before[operation](asked)

    def _only_if_new(self, operation: str, asked: dict[str, Any]) -> None:
        assert asked["IfNoneMatch"] == "*"  # or it could write over an object
        if asked["Key"] in self.objects:
            raise refusal(operation, "PreconditionFailed")

    def _store(self, key: str, body: bytes, asked: dict[str, Any]) -> None:
        self.objects[key] = {
            "Body": body,
            "ContentType": asked["ContentType"],
            "Metadata": asked.get("Metadata", {}),
        }


def refusal(operation: str, code: str) -> ClientError:
    """The error that botocore raises for S3's answer `code`."""
    return ClientError({"Error": {"Code": code, "Message": "no"}}, operation)


@pytest.fixture
def s3() -> FakeS3:
    return FakeS3()


def _write_files(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def write_files() -> WriteFiles:
    """Write texts below a folder by their paths, and return the folder."""
    return _write_files


@pytest.fixture
def write_configs(tmp_path: Path) -> WriteConfigs:
    """Write model directories, given the text of each config.pbtxt, and read them."""

    def write(**configs: str) -> Repository:
        _write_files(tmp_path, {f"{name}/{CONFIG}": text for name, text in configs.items()})
        return Repository.read(tmp_path)

    return write


_TENSORS = """
max_batch_size: 8
input [ { name: "X" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""

DOUBLED = {
    "recipe.yaml": "description: Twice a number\nfiles: {}\n",
    "doubled/config.pbtxt": f"""
name: "doubled"
platform: "ensemble"
{_TENSORS}
ensemble_scheduling {{ step [ {{
  model_name: "double"
  model_version: -1
  input_map {{ key: "X" value: "X" }}
  output_map {{ key: "Y" value: "Y" }}
}} ] }}
""",
    "double/config.pbtxt": f"""
# A comment, which the archive has not.
name: "double"
backend: "python"
{_TENSORS}
instance_group [ {{ count: 1 kind: KIND_GPU }} ]
""",
    "double/requirements.txt": "# for the builder\n",
    "double/1/model.py": "class TritonPythonModel: ...\n",
    "double/1/__pycache__/model.cpython-312.pyc": "",
    "double/1/tests/test_model.py": "",
    "double/1/.editor": "",
    "tests/test_doubled.py": "",
}


@pytest.fixture
def doubled(tmp_path: Path) -> Path:
    """A model folder that needs no weights: an ensemble `doubled` of one Python model."""
    return _write_files(tmp_path / "models" / "doubled", DOUBLED)
