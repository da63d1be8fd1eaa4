from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.codebuild.cloudformation import ProjectResource, resource_types
from local_sagemaker.codebuild.service import CodeBuild
from local_sagemaker.tests.codebuild.conftest import FakeLogs

ROLE = "arn:aws:iam::000000000000:role/builder"
PROPERTIES: dict[str, Any] = {
    "Artifacts": {"Type": "NO_ARTIFACTS"},
    "Cache": {"Type": "NO_CACHE"},
    "EncryptionKey": "arn:aws:kms:us-east-1:000000000000:key/1",
    "Environment": {
        "ComputeType": "BUILD_GENERAL1_SMALL",
        "EnvironmentVariables": [{"Name": "A", "Type": "PLAINTEXT", "Value": "1"}],
        "Image": "nvcr.io/nvidia/tensorrt:25.09-py3",
        "ImagePullCredentialsType": "SERVICE_ROLE",
        "PrivilegedMode": "false",
        "Type": "LINUX_GPU_CONTAINER",
    },
    "LogsConfig": {"CloudWatchLogs": {"GroupName": "mine", "Status": "ENABLED"}},
    "QueuedTimeoutInMinutes": "10",
    "ServiceRole": ROLE,
    "Source": {"BuildSpec": "version: 0.2", "Location": "assets/step.zip", "Type": "S3"},
    "Tags": [{"Key": "stage", "Value": "dev"}],
    "TimeoutInMinutes": 40,
}


@pytest.fixture
def codebuild(tmp_path: Path, s3: Any, logs: FakeLogs) -> CodeBuild:
    return CodeBuild(clients=lambda _: (s3, logs), folder=tmp_path, environment={})


@pytest.fixture
def resource(codebuild: CodeBuild) -> ProjectResource:
    resource_type = resource_types(codebuild.service)["AWS::CodeBuild::Project"]
    assert isinstance(resource_type, ProjectResource)
    return resource_type


def describe(codebuild: CodeBuild, name: str) -> dict[str, Any]:
    answer = codebuild.service.call("BatchGetProjects", {"names": [name]})
    (result,) = answer["projects"]
    return dict(result)


def test_properties_reach_the_project(codebuild: CodeBuild, resource: ProjectResource) -> None:
    name, attributes = resource.create("Builder1A2B", PROPERTIES, "dev-models")
    assert name.startswith("Builder1A2B-")
    arn = f"arn:aws:codebuild:us-east-1:000000000000:project/{name}"
    assert attributes == {"Arn": arn}
    project = describe(codebuild, name)
    assert project["environment"]["image"] == "nvcr.io/nvidia/tensorrt:25.09-py3"
    assert project["logsConfig"]["cloudWatchLogs"]["groupName"] == "mine"
    assert (project["queuedTimeoutInMinutes"], project["timeoutInMinutes"]) == (10, 40)
    assert project["source"]["buildspec"] == "version: 0.2"
    assert project["tags"] == [{"key": "stage", "value": "dev"}]


def test_removed_properties_return_to_their_defaults(
    codebuild: CodeBuild, resource: ProjectResource
) -> None:
    name, attributes = resource.create("Builder", PROPERTIES, "dev")
    remaining = {
        key: PROPERTIES[key] for key in ("Artifacts", "Environment", "ServiceRole", "Source")
    }
    assert resource.update(name, PROPERTIES, remaining, "dev") == (name, attributes)
    result = describe(codebuild, name)
    assert (result["timeoutInMinutes"], result["queuedTimeoutInMinutes"]) == (60, 480)
    assert result["logsConfig"]["cloudWatchLogs"] == {"status": "ENABLED"}
    assert result["source"]["location"] == "assets/step.zip"


def test_second_deletion_succeeds(codebuild: CodeBuild, resource: ProjectResource) -> None:
    name, _ = resource.create("Builder", PROPERTIES, "dev")
    for _ in range(2):
        resource.delete(name, PROPERTIES)
    assert codebuild.service.call("ListProjects", {})["projects"] == []
