"""The artifacts of a build, which are uploaded to a bucket."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

from local_sagemaker.codebuild import buildspec
from local_sagemaker.codebuild.phases import BuildFailed
from local_sagemaker.codebuild.sources import invalid_input
from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Record = dict[str, Any]
S3_KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:alias/aws/s3"
"""The default encryption key of a project; uploads with this key need no SSEKMSKeyId."""


def check_artifacts(artifacts: Record) -> None:
    """Raise `ApiError` for artifacts settings that are invalid or not emulated."""
    if artifacts["type"] == "NO_ARTIFACTS":
        if "name" in artifacts:  # cloudposse/terraform-aws-codebuild#63
            raise _invalid_artifacts("artifact type NO_ARTIFACTS should have null output name")
        return
    for member, value in (("type", "S3"), ("packaging", "NONE")):
        if artifacts[member] != value:
            raise _invalid_artifacts(
                f"the local SageMaker does not support {member} {artifacts[member]}: use {value}"
            )
    if not artifacts.get("location") or "/" in artifacts["location"]:
        raise _invalid_artifacts("location must be the name of the output bucket")
    if not artifacts.get("name"):  # required for S3: CloudFormation user guide, Artifacts
        raise _invalid_artifacts('name is missing: use the name of the artifact, or "/"')


def _invalid_artifacts(reason: str) -> ApiError:
    return invalid_input(f"Invalid artifacts: {reason}")


@dataclass(frozen=True)
class BuildOutput:
    """The artifacts of one build; `settings` are valid ProjectArtifacts."""

    settings: Record
    build_arn: str
    encryption_key: str
    s3: "S3Client"

    @property
    def record(self) -> Record:
        """The build's member `artifacts` (the AWS CLI's example of stop-build)."""
        if self.settings["type"] == "NO_ARTIFACTS":
            return {"location": ""}
        location = f"arn:aws:s3:::{self.settings['location']}/{self._key()}"
        return {"location": location, "encryptionDisabled": False, "overrideArtifactName": False}

    def upload(self, spec: buildspec.Artifacts | None, sources: Path) -> None:
        """Upload the matching files with the build's ARN in their metadata. Raise `BuildFailed`."""
        if self.settings["type"] == "NO_ARTIFACTS":
            return
        if spec is None:  # aws/aws-codebuild-docker-images#128
            raise BuildFailed("CLIENT_ERROR", "no definition for primary artifacts in buildspec")
        extra_args: Record = {
            "Metadata": {"codebuild-buildarn": self.build_arn},
            "ServerSideEncryption": "aws:kms",
        }
        if self.encryption_key != S3_KEY:
            extra_args["SSEKMSKeyId"] = self.encryption_key
        bucket = self.settings["location"]
        try:
            for name, file in _matching_files(spec, sources).items():
                self.s3.upload_file(str(file), bucket, self._key(name), ExtraArgs=extra_args)
        except (ClientError, BotoCoreError, Boto3Error) as error:
            raise BuildFailed("CLIENT_ERROR", f"Failed to upload artifacts: {error}") from error

    def _key(self, file: str = "") -> str:
        """Return the key <path>/<build's UUID>/<name>/<file>, without empty parts."""
        has_uuid = self.settings["namespaceType"] == "BUILD_ID"
        build = self.build_arn.rpartition(":")[2] if has_uuid else ""
        parts = [self.settings.get("path", ""), build, self.settings["name"], file]
        return "/".join(part.strip("/") for part in parts if part.strip("/"))


def _matching_files(spec: buildspec.Artifacts, sources: Path) -> dict[str, Path]:
    """Return the matching files by path relative to the base directory.

    The base directory is relative to the primary source (guide, build-spec-ref, artifacts). Source
    of the messages: aws/aws-cdk's README of pipelines, and aws/copilot-cli#2780.
    """
    base = sources / spec.base_directory
    if not base.is_dir():
        raise BuildFailed(
            "CLIENT_ERROR", f"no matching base directory path found for {spec.base_directory}"
        )
    files = {
        str(file.relative_to(base)): file
        for pattern in spec.files
        for file in base.glob(pattern)
        if file.is_file()
    }
    if not files:
        raise BuildFailed("CLIENT_ERROR", "no matching artifact paths found")
    return dict(sorted(files.items()))
