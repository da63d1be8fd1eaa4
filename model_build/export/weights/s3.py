"""Weights in S3."""

from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from model_build.errors import BuildError
from model_build.recipe import S3Weights


def download_from_s3(weights: S3Weights, to: Path) -> None:
    """Download the named files below the prefix, with the credentials of whoever builds."""
    bucket, _, prefix = weights.uri.removeprefix("s3://").partition("/")
    s3 = boto3.client("s3")
    for name in weights.files:
        key = f"{prefix.rstrip('/')}/{name}".lstrip("/")
        try:
            s3.download_file(bucket, key, str(to / name))
        except (BotoCoreError, ClientError) as error:
            raise BuildError(
                f"s3://{bucket}/{key} could not be read ({error}): give the build's role "
                "s3:GetObject on it, or mend `uri` in the recipe"
            ) from None
