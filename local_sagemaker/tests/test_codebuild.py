"""CodeBuild: builds of commands on this machine, with fake S3 and CloudWatch Logs clients."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.codebuild.builds import CodeBuild
from local_sagemaker.codebuild.cloudformation import resource_types
from local_sagemaker.errors import ApiError
from local_sagemaker.tests.support.waiting import eventually, runs

Record = dict[str, Any]
OUTPUT = {"type": "S3", "location": "models", "path": "raw", "namespaceType": "BUILD_ID",
          "name": "/", "packaging": "NONE"}  # fmt: skip


class FakeLogs:
    """A fake client of CloudWatch Logs, with the messages of one stream."""

    def __init__(self) -> None:
        self.stream: tuple[str, str] | None = None
        self.text = ""

    def create_log_stream(self, *, logGroupName: str, logStreamName: str) -> None:  # noqa: N803
        self.stream = logGroupName, logStreamName

    def put_log_events(self, *, logEvents: list[Record], **_: str) -> None:  # noqa: N803
        self.text += "".join(event["message"] for event in logEvents)


class Account:
    """A project whose buildspec and settings each build replaces."""

    def __init__(self, folder: Path, s3: Any) -> None:
        self.folder, self.s3, self.logs, self.now = folder, s3, FakeLogs(), 1_800_000_000.0
        self.codebuild = CodeBuild(
            clients=lambda _: (s3, self.logs),
            folder=folder,
            environment={"AWS_ENDPOINT_URL": "http://127.0.0.1:1"},
            clock=lambda: self.now,
        )

    def call(self, operation: str, **request: Any) -> Record:
        return self.codebuild.service.call(operation, request)

    def start(
        self, request: Record | None = None, spec: Record | None = None, **phases: str
    ) -> str:
        """Start a build whose phases have these commands, or of a buildspec; return its id."""
        commands = {name: {"commands": [command]} for name, command in phases.items()}
        content = {"version": "0.2", "phases": commands, **(spec or {})}
        self.call("UpdateProject", **project(json.dumps(content)))
        return str(self.call("StartBuild", projectName="builder", **(request or {}))["build"]["id"])

    def build(self, *arguments: Any, **phases: Any) -> Record:
        """Run a build until it has ended; return its record."""
        return self.ended(self.start(*arguments, **phases))

    def ended(self, build: str) -> Record:
        (record,) = self.call("BatchGetBuilds", ids=[build])["builds"]
        eventually(lambda: record["buildComplete"])
        return dict(record)

    def path(self, build: str, name: str) -> Path:
        return self.folder / build.partition(":")[2] / name

    def output(self, build: Record) -> list[str]:
        """Return the output of the commands."""
        return self.path(build["id"], "build.log").read_text().splitlines()


def project(buildspec: str = "") -> Record:
    return {
        "name": "builder",
        "artifacts": {"type": "NO_ARTIFACTS"},
        "environment": {
            "type": "LINUX_CONTAINER", "image": "i", "computeType": "BUILD_GENERAL1_SMALL",
            "environmentVariables": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        },
        "serviceRole": "arn:aws:iam::000000000000:role/builder",
        "source": {"type": "NO_SOURCE", "buildspec": buildspec},
    }  # fmt: skip


@pytest.fixture
def account(tmp_path: Path, s3: Any) -> Iterator[Account]:
    account = Account(tmp_path, s3)
    account.call("CreateProject", **project())
    yield account
    account.codebuild.stop()


def phases(build: Record) -> dict[str, Any]:
    return {phase["phaseType"]: phase.get("phaseStatus") for phase in build["phases"]}


def context(build: Record, phase: str) -> tuple[str, str]:
    (record,) = (record for record in build["phases"] if record["phaseType"] == phase)
    return record["contexts"][0]["statusCode"], record["contexts"][0]["message"]


def test_phases_run_in_order(account: Account) -> None:
    build = account.build(build="echo 2", install="echo 1")
    assert account.output(build) == ["1", "2"]
    names = "SUBMITTED QUEUED PROVISIONING DOWNLOAD_SOURCE INSTALL PRE_BUILD BUILD POST_BUILD"
    names = f"{names} UPLOAD_ARTIFACTS FINALIZING"
    assert phases(build) == {**dict.fromkeys(names.split(), "SUCCEEDED"), "COMPLETED": None}
    assert (build["buildStatus"], build["currentPhase"]) == ("SUCCEEDED", "COMPLETED")
    assert context(build, "BUILD") == ("", "")


def test_commands_have_variables_but_no_secrets(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    override = {"environmentVariablesOverride": [{"name": "A", "value": "3"}]}
    command = 'echo "${GITHUB_TOKEN-unset} $A $B $CI $AWS_ENDPOINT_URL $CODEBUILD_BUILD_ID"'
    build = account.build(override, build=f"{command}; command -v python")
    python = str(Path(sys.prefix) / "bin" / "python")
    expected = f"unset 3 2 true http://127.0.0.1:1 {build['id']}"
    assert account.output(build) == [expected, python]


def test_failed_command_is_in_the_record_and_the_log(account: Account) -> None:
    build = account.build(build="echo error: no GPU; exit 7")
    message = "echo error: no GPU; exit 7. Reason: exit status 7"
    assert build["buildStatus"] == phases(build)["BUILD"] == "FAILED"
    expected = ("COMMAND_EXECUTION_ERROR", f"Error while executing command: {message}")
    assert context(build, "BUILD") == expected
    names = build["logs"]["groupName"], build["logs"]["streamName"]
    assert account.logs.stream == names == ("/aws/codebuild/builder", build["id"].split(":")[1])
    assert account.logs.text == "error: no GPU\n"
    assert account.logs.text == account.path(build["id"], "build.log").read_text()


def test_failed_install_phase_ends_the_build(account: Account) -> None:
    build = account.build(install="false", build="echo built")
    assert account.output(build) == []
    assert list(phases(build))[-3:] == ["INSTALL", "FINALIZING", "COMPLETED"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"version": 1}, "only buildspec version 0.2 is supported: write version: 0.2"),
        ({"env": {}}, "the local SageMaker does not support env"),
        ({"phases": {"build": {"commands": ["a", "b"]}}}, "phase build needs one command"),
    ],
)
def test_invalid_buildspec_fails_the_build(account: Account, spec: Record, message: str) -> None:
    build = account.build(None, spec, build="true")
    code, text = context(build, "DOWNLOAD_SOURCE")
    assert (build["buildStatus"], code) == ("FAILED", "YAML_FILE_ERROR")
    assert text.startswith(message)


@pytest.mark.parametrize(
    ("key", "location", "message"),
    [
        ("other", "models/job/", "no objects found for job source and source version"),
        ("job/../../a", "models/job/", "job/../../a is outside".removeprefix("job/")),
        ("m.zip", "models/m.zip", "File is not a zip file"),
        ("m.zip", "models/n.zip", "An error occurred (NoSuchKey)"),
    ],
)
def test_invalid_source_fails_the_build(
    account: Account, s3: Any, key: str, location: str, message: str
) -> None:
    s3.objects["models", key] = b"a"
    source = {"type": "S3", "location": location, "sourceIdentifier": "job"}
    build = account.build({"secondarySourcesOverride": [source]}, build="true")
    code, text = context(build, "DOWNLOAD_SOURCE")
    assert (build["buildStatus"], code) == ("FAILED", "CLIENT_ERROR")
    assert text.startswith(message)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "no definition for primary artifacts in buildspec"),
        ({"artifacts": {"files": ["none"]}}, "no matching artifact paths found"),
        ({"artifacts": {"base-directory": "out", "files": ["**/*"]}},
         "no matching base directory path found for out"),
    ],
)  # fmt: skip
def test_missing_artifacts_fail_the_build(account: Account, spec: Record, message: str) -> None:
    build = account.build({"artifactsOverride": OUTPUT}, spec, build="true")
    assert context(build, "UPLOAD_ARTIFACTS") == ("CLIENT_ERROR", message)
    assert (build["buildStatus"], account.s3.objects) == ("FAILED", {})


@pytest.mark.parametrize("is_stopped", [True, False])
def test_stop_and_timeout_end_the_processes(account: Account, is_stopped: bool) -> None:
    name = account.start(build="sleep 300 & echo $! > child; wait")
    child = account.path(name, "src/child")
    process = int(eventually(lambda: child.exists() and child.read_text()))
    if is_stopped:
        account.call("StopBuild", id=name)
    else:
        account.now += 3600
    build = account.ended(name)
    status = ("STOPPED", "STOPPED") if is_stopped else ("FAILED", "TIMED_OUT")
    assert (build["buildStatus"], phases(build)["BUILD"]) == status
    assert list(phases(build))[-2:] == ["BUILD", "COMPLETED"]
    eventually(lambda: not runs(process))


def test_idempotency_token_is_valid_for_five_minutes(account: Account) -> None:
    first = account.start({"idempotencyToken": "a"}, build="true")
    account.now += 299
    assert account.start({"idempotencyToken": "a"}, build="true") == first
    with pytest.raises(ApiError, match="parameter mismatch for idempotency token a"):
        account.start({"idempotencyToken": "a", "imageOverride": "other"}, build="true")
    account.now += 1
    second = account.start({"idempotencyToken": "a", "imageOverride": "other"}, build="true")
    assert account.call("ListBuildsForProject", projectName="builder")["ids"] == [second, first]


def test_resource_type(account: Account) -> None:
    resource = resource_types(account.codebuild.service)["AWS::CodeBuild::Project"]
    properties = {
        "Artifacts": {"Type": "NO_ARTIFACTS"},
        "Environment": {
            "ComputeType": "BUILD_GENERAL1_SMALL", "Image": "i", "PrivilegedMode": "false",
            "Type": "LINUX_GPU_CONTAINER",
        },
        "ServiceRole": project()["serviceRole"],
        "Source": {"BuildSpec": "version: 0.2", "Location": "assets/step.zip", "Type": "S3"},
    }  # fmt: skip
    changed = {**properties, "TimeoutInMinutes": "40"}
    name, attributes = resource.create("Builder", changed, "dev")
    (stored,) = account.call("BatchGetProjects", names=[name])["projects"]
    assert (stored["source"]["buildspec"], stored["timeoutInMinutes"]) == ("version: 0.2", 40)
    assert resource.update(name, changed, properties, "dev") == (name, attributes)
    (stored,) = account.call("BatchGetProjects", names=[name])["projects"]
    assert stored["timeoutInMinutes"] == 60
    for _ in range(2):
        resource.delete(name, properties)
    assert account.call("ListProjects")["projects"] == ["builder"]


def test_completed_builds_are_restored(account: Account, tmp_path: Path) -> None:
    build = account.build(build="true")
    running = account.start(build="sleep 60")
    again = Account(tmp_path, account.s3)
    again.codebuild.restore(json.loads(json.dumps(account.codebuild.records())))
    assert again.call("ListBuilds")["ids"] == [build["id"]]
    assert again.call("BatchGetBuilds", ids=[build["id"], running]) == {
        "builds": [build],
        "buildsNotFound": [running],
    }
    assert again.call("StopBuild", id=build["id"])["build"] == build
    assert again.build(build="true")["buildStatus"] == "SUCCEEDED"
