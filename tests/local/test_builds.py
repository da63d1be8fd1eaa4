"""A build with the sources, artifacts and log of the GPU project."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.waiting import eventually
from tests.local.stage_resources import latest_build_log, read_object

LARGE = 20 * 2**20
BUILDSPEC = {
    "version": "0.2",
    "phases": {
        "build": {
            "commands": [
                "mkdir -p result/outputs; "
                'cp "$CODEBUILD_SRC_DIR_job/model.onnx" result/model.plan; '
                'cp "$CODEBUILD_SRC_DIR_job/inputs/a.bin" result/outputs/; '
                "echo error: the plan is not a plan; exit 3",
            ]
        }
    },
    "artifacts": {"base-directory": "result", "files": ["**/*"]},
}


@pytest.fixture
def project(local_sagemaker: LocalSageMaker) -> Iterator[str]:
    codebuild = boto3.client("codebuild")
    key = boto3.client("kms").create_key()["KeyMetadata"]["Arn"]
    boto3.client("s3").create_bucket(Bucket="models")
    codebuild.create_project(
        name="gpu",
        source={"type": "NO_SOURCE", "buildspec": json.dumps(BUILDSPEC)},
        artifacts={"type": "NO_ARTIFACTS"},
        environment={
            "type": "LINUX_GPU_CONTAINER",
            "computeType": "BUILD_GENERAL1_SMALL",
            "image": "nvcr.io/nvidia/tensorrt:25.09-py3",
        },
        serviceRole="arn:aws:iam::000000000000:role/gpu",
        encryptionKey=key,
    )
    yield "gpu"
    codebuild.delete_project(name="gpu")


def test_failed_build_uploads_its_artifacts(project: str) -> None:
    s3, codebuild = boto3.client("s3"), boto3.client("codebuild")
    model = b"onnx" * (LARGE // 4)
    s3.put_object(Bucket="models", Key="jobs/1/job/model.onnx", Body=model)
    s3.put_object(Bucket="models", Key="jobs/1/job/inputs/a.bin", Body=b"a")
    build = codebuild.start_build(
        projectName=project,
        idempotencyToken="1-1",
        secondarySourcesOverride=[
            {"type": "S3", "location": "models/jobs/1/job/", "sourceIdentifier": "job"}
        ],
        artifactsOverride={
            "type": "S3",
            "location": "models",
            "path": "jobs/1/raw",
            "namespaceType": "BUILD_ID",
            "name": "/",
            "packaging": "NONE",
        },
    )["build"]

    def ended_build() -> Any:
        (latest,) = codebuild.batch_get_builds(ids=[build["id"]])["builds"]
        return latest if latest["buildComplete"] else None

    build = eventually(ended_build)
    assert build["buildStatus"] == "FAILED"
    raw = f"jobs/1/raw/{build['id'].partition(':')[2]}"
    assert build["artifacts"]["location"] == f"arn:aws:s3:::models/{raw}"
    plan = s3.get_object(Bucket="models", Key=f"{raw}/model.plan")
    assert plan["Body"].read() == model
    assert plan["ServerSideEncryption"] == "aws:kms"
    assert plan["SSEKMSKeyId"] == build["encryptionKey"]
    assert plan["Metadata"] == {"codebuild-buildarn": build["arn"]}
    assert read_object("models", f"{raw}/outputs/a.bin") == b"a"
    assert "\nerror: the plan is not a plan\n[Container] " in latest_build_log()
