"""Archives: from the bucket to a folder that Triton can load."""

import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError
from isal import igzip

from local_aws.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


BUFFER_BYTES = 1 << 20


def fetch(s3: "S3Client", *, bucket: str, key: str, to: Path) -> None:
    """Download `s3://bucket/key` and unpack it into the folder `to`, while it arrives.

    It is unpacked beside `to` and then renamed, so that a folder of that name is a whole model.
    Raises `ApiError` as InvokeEndpoint does when there is no such object, or no archive in it.
    """
    try:
        body = s3.get_object(Bucket=bucket, Key=key)["Body"]
    except (ClientError, BotoCoreError) as error:
        reason = error.response["Error"]["Message"] if isinstance(error, ClientError) else error
        raise ApiError(
            "ValidationError",
            f"Failed to download model data (bucket: {bucket}, key: {key}). Please ensure that "
            f"there is an object located at the URL and that the role passed to CreateModel has "
            f"permissions to download it: {reason}",
        ) from None
    to.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f"{to.name}.", dir=to.parent) as beside:
        unpacked = Path(beside) / to.name
        unpacked.mkdir()
        try:
            with (
                igzip.IGzipFile(fileobj=body) as unzipped,  # type: ignore[no-untyped-call]
                tarfile.open(fileobj=unzipped, mode="r|", bufsize=BUFFER_BYTES) as tar,
            ):
                tar.extractall(unpacked, filter="data")
        except Exception as error:  # tarfile's, isal's, and those of a connection that breaks off
            raise ApiError(
                "ValidationError", f"Failed to extract model data s3://{bucket}/{key}: {error}"
            ) from error
        unpacked.rename(to)
