"""Artifacts of a build: files that match the buildspec's patterns, uploaded to a bucket."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

from local_sagemaker.codebuild import buildspec
from local_sagemaker.codebuild.phases import Failed
from local_sagemaker.codebuild.sources import invalid_input
from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Record = dict[str, Any]
S3_KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:alias/aws/s3"
"""The default encryption key of a project; uploads with it need no SSEKMSKeyId."""


def check(described: Record) -> None:
    """Raise `ApiError` for artifacts settings that are invalid or not emulated."""
    if described["type"] == "NO_ARTIFACTS":
        if "name" in described:  # cloudposse/terraform-aws-codebuild#63
            raise _invalid("artifact type NO_ARTIFACTS should have null output name")
        return
    for member, value in (("type", "S3"), ("packaging", "NONE")):
        if described[member] != value:
            raise _invalid(
                f"the local SageMaker does not support {member} {described[member]}: use {value}"
            )
    if not described.get("location") or "/" in described["location"]:
        raise _invalid("location must be the name of the output bucket")
    if not described.get("name"):  # CloudFormation's page on Artifacts wants one for S3
        raise _invalid('name is missing: use the name of the artifact, or "/"')


def _invalid(reason: str) -> ApiError:
    return invalid_input(f"Invalid artifacts: {reason}")


@dataclass(frozen=True)
class Output:
    """The destination of one build's artifacts; `described` has passed `check`."""

    described: Record
    build_arn: str
    encryption_key: str
    s3: "S3Client"

    @property
    def record(self) -> Record:
        """The member `artifacts` of a build (the AWS CLI's example of stop-build)."""
        if self.described["type"] == "NO_ARTIFACTS":
            return {"location": ""}
        location = f"arn:aws:s3:::{self.described['location']}/{self._key()}"
        return {"location": location, "encryptionDisabled": False, "overrideArtifactName": False}

    def upload(self, spec: buildspec.Artifacts | None, sources: Path) -> None:
        """Upload the matching files with the build's ARN in their metadata. Raise `Failed`."""
        if self.described["type"] == "NO_ARTIFACTS":
            return
        if spec is None:  # aws/aws-codebuild-docker-images#128
            raise Failed("CLIENT_ERROR", "no definition for primary artifacts in buildspec")
        extra: Record = {
            "Metadata": {"codebuild-buildarn": self.build_arn},
            "ServerSideEncryption": "aws:kms",
        }
        if self.encryption_key != S3_KEY:
            extra["SSEKMSKeyId"] = self.encryption_key
        bucket = self.described["location"]
        try:
            for name, file in _matching(spec, sources).items():
                self.s3.upload_file(str(file), bucket, self._key(name), ExtraArgs=extra)
        except (ClientError, BotoCoreError, Boto3Error) as error:
            raise Failed("CLIENT_ERROR", f"Failed to upload artifacts: {error}") from error

    def _key(self, file: str = "") -> str:
        """Return the key <path>/<build's UUID>/<name>/<file>, without empty parts."""
        by_build = self.described["namespaceType"] == "BUILD_ID"
        build = self.build_arn.rpartition(":")[2] if by_build else ""
        parts = [self.described.get("path", ""), build, self.described["name"], file]
        return "/".join(part.strip("/") for part in parts if part.strip("/"))


def _matching(spec: buildspec.Artifacts, sources: Path) -> dict[str, Path]:
    """Return files by path relative to the base directory (guide, build-spec-ref, artifacts).

    The base directory is relative to the primary source. Source of the messages: aws/aws-cdk's
    README of pipelines, and aws/copilot-cli#2780.
    """
    base = sources / spec.base_directory
    if not base.is_dir():
        raise Failed(
            "CLIENT_ERROR", f"no matching base directory path found for {spec.base_directory}"
        )
    files = {
        str(file.relative_to(base)): file
        for pattern in spec.files
        for file in base.glob(pattern)
        if file.is_file()
    }
    if not files:
        raise Failed("CLIENT_ERROR", "no matching artifact paths found")
    return dict(sorted(files.items()))
