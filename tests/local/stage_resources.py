"""Resources of deployed stages: buckets of models, builds and their logs."""

from typing import Any

import boto3


def models_bucket(stage: str) -> str:
    """Return the name of the models bucket of a stage."""
    names = [bucket["Name"] for bucket in boto3.client("s3").list_buckets()["Buckets"]]
    (bucket,) = (name for name in names if name.startswith(f"{stage}-models-modelsbucket"))
    return bucket


def bucket_keys(bucket: str, prefix: str = "") -> list[str]:
    s3: Any = boto3.client("s3")
    contents = s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", ())
    return [content["Key"] for content in contents]


def read_object(bucket: str, key: str) -> bytes:
    return boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()


def build_ids() -> list[str]:
    """Return the IDs of all CodeBuild builds, newest first."""
    return boto3.client("codebuild").list_builds()["ids"]
