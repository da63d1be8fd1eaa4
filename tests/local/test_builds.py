"""A build as the GPU project runs it: a job's folder in, files out, and a log in CloudWatch."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.waiting import eventually
from tests.local.builds import log_of_the_last_build

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
    made = codebuild.create_project(
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
    )["project"]
    yield made["name"]
    codebuild.delete_project(name=made["name"])


def test_a_job_goes_in_and_what_came_of_it_comes_out(project: str) -> None:
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

    def ended() -> Any:
        (now,) = codebuild.batch_get_builds(ids=[build["id"]])["builds"]
        return now if now["buildComplete"] else None

    build = eventually(ended)
    assert build["buildStatus"] == "FAILED"
    raw = f"jobs/1/raw/{build['id'].partition(':')[2]}"
    assert build["artifacts"]["location"] == f"arn:aws:s3:::models/{raw}"
    plan = s3.get_object(Bucket="models", Key=f"{raw}/model.plan")
    assert plan["Body"].read() == model
    assert plan["ServerSideEncryption"] == "aws:kms"
    assert plan["SSEKMSKeyId"] == build["encryptionKey"]
    assert plan["Metadata"] == {"codebuild-buildarn": build["arn"]}
    output = s3.get_object(Bucket="models", Key=f"{raw}/outputs/a.bin")
    assert output["Body"].read() == b"a"
    assert "\nerror: the plan is not a plan\n[Container] " in log_of_the_last_build()
