"""Archives: from the bucket to a folder that Triton can load."""

import shutil
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError
from isal import igzip

from local_aws.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


BUFFER_BYTES = 1 << 20


def fetch(s3: "S3Client", *, bucket: str, key: str, to: Path) -> None:
    """Download `s3://bucket/key` and unpack it into the folder `to`, while it arrives.

    Raises `ApiError` as InvokeEndpoint does when there is no such object, or no archive in it.
    """
    try:
        body = s3.get_object(Bucket=bucket, Key=key)["Body"]
    except ClientError as error:
        raise ApiError(
            "ValidationError",
            f"Failed to download model data (bucket: {bucket}, key: {key}). Please ensure that "
            f"there is an object located at the URL and that the role passed to CreateModel has "
            f"permissions to download it: {error.response['Error']['Message']}",
        ) from None
    to.mkdir(parents=True)
    try:
        with (
            igzip.IGzipFile(fileobj=body) as unzipped,  # type: ignore[no-untyped-call]
            tarfile.open(fileobj=unzipped, mode="r|", bufsize=BUFFER_BYTES) as tar,
        ):
            tar.extractall(to, filter="data")
    except (tarfile.TarError, OSError, EOFError) as error:
        shutil.rmtree(to)
        raise ApiError(
            "ValidationError", f"Failed to extract model data s3://{bucket}/{key}: {error}"
        ) from None
