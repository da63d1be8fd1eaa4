import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from local_aws.api import Answer
from local_aws.codebuild.service import CodeBuild
from local_aws.errors import ApiError
from tests.unit.local_aws.conftest import PATIENCE, ClientFor, eventually

NOTHING = json.dumps({"version": "0.2"})
UNTIL_STOPPED = json.dumps(
    {"version": "0.2", "phases": {"build": {"commands": ["echo started; sleep 300"]}}}
)


class Ministack:
    """The projects, and the handler that answers what is not about builds."""

    def __init__(self) -> None:
        self.projects = {"builder": project("builder"), "other": project("other")}
        self.passed_on: list[tuple[Any, ...]] = []

    def batch_get_projects(self, *, names: list[str]) -> dict[str, Any]:
        return {"projects": [self.projects[name] for name in names if name in self.projects]}

    async def handle(self, *request: Any) -> Answer:
        self.passed_on.append(request)
        return 200, {}, b'{"projects": []}'


def project(name: str, *, buildspec: str = NOTHING, **more: Any) -> dict[str, Any]:
    variables = [
        {"name": "MODEL", "value": "from the project", "type": "PLAINTEXT"},
        {"name": "KEPT", "value": "as it is", "type": "PLAINTEXT"},
    ]
    environment = {
        "type": "LINUX_CONTAINER",
        "image": "aws/codebuild/standard:7.0",
        "computeType": "BUILD_GENERAL1_SMALL",
        "environmentVariables": variables,
    }
    source = {"type": "NO_SOURCE", "buildspec": buildspec}
    return {"name": name, "environment": environment, "source": source, **more}


@pytest.fixture
def ministack() -> Ministack:
    return Ministack()


@pytest.fixture
def codebuild(
    ministack: Ministack, s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CodeBuild]:
    """The service; at the end, nothing of it runs."""
    monkeypatch.setattr("local_aws.codebuild.service.GRACE_SECONDS", PATIENCE)
    made = CodeBuild(
        ministack.handle,
        client=SimpleNamespace(batch_get_projects=ministack.batch_get_projects),  # type: ignore[arg-type]
        s3=s3,
        folder=tmp_path / "builds",
        environment={"AWS_ENDPOINT_URL": "http://127.0.0.1:1"},
    )
    yield made
    made.stop()


def start(codebuild: CodeBuild, name: str = "builder", **request: Any) -> dict[str, Any]:
    build: dict[str, Any] = codebuild.start({"projectName": name, **request})["build"]
    return build


def finished(build: dict[str, Any]) -> dict[str, Any]:
    eventually(lambda: build["buildComplete"])
    return build


def wait_until_it_runs(build: dict[str, Any]) -> None:
    log = Path(build["logs"]["deepLink"])
    eventually(lambda: log.exists() and "\nstarted\n" in log.read_text())


def log_of(build: dict[str, Any]) -> str:
    return Path(finished(build)["logs"]["deepLink"]).read_text()


# StartBuild


def test_a_build_starts_in_progress_and_succeeds(codebuild: CodeBuild, tmp_path: Path) -> None:
    build = start(codebuild)
    name, _, number = build["id"].partition(":")
    assert name == build["projectName"] == "builder"
    assert build["arn"] == f"arn:aws:codebuild:us-east-1:000000000000:build/{build['id']}"
    assert build["logs"]["deepLink"] == str(tmp_path / "builds" / number / "build.log")
    assert finished(build)["buildStatus"] == "SUCCEEDED"


def test_a_project_that_does_not_exist_is_named(codebuild: CodeBuild) -> None:
    with pytest.raises(ApiError) as refused:
        start(codebuild, "bilder")
    assert refused.value.code == "ResourceNotFoundException"
    assert refused.value.message == "Project cannot be found: bilder"
    assert codebuild.list_builds({})["ids"] == []


def test_builds_are_numbered(codebuild: CodeBuild) -> None:
    assert [start(codebuild)["buildNumber"] for _ in range(3)] == [1, 2, 3]


def test_a_repeated_token_answers_with_the_build_that_it_started(codebuild: CodeBuild) -> None:
    first = start(codebuild, idempotencyToken="a")
    assert start(codebuild, idempotencyToken="a")["id"] == first["id"]
    assert start(codebuild, idempotencyToken="b")["id"] != first["id"]
    assert start(codebuild)["id"] != first["id"]
    assert len(codebuild.list_builds({})["ids"]) == 3


def test_overrides_replace_what_the_project_says(codebuild: CodeBuild) -> None:
    source = {"type": "NO_SOURCE", "sourceIdentifier": "model"}
    build = start(
        codebuild,
        imageOverride="nvcr.io/nvidia/tensorrt:25.09-py3",
        computeTypeOverride="BUILD_GENERAL1_LARGE",
        environmentTypeOverride="LINUX_GPU_CONTAINER",
        secondarySourcesOverride=[source],
        timeoutInMinutesOverride=5,
    )
    environment = build["environment"]
    assert environment["image"] == "nvcr.io/nvidia/tensorrt:25.09-py3"
    assert environment["computeType"] == "BUILD_GENERAL1_LARGE"
    assert environment["type"] == "LINUX_GPU_CONTAINER"
    assert build["secondarySources"] == [source]
    assert build["timeoutInMinutes"] == 5


def test_without_overrides_a_build_is_as_the_project_says(
    codebuild: CodeBuild, ministack: Ministack
) -> None:
    source = {"type": "NO_SOURCE", "sourceIdentifier": "shared"}
    ministack.projects["builder"] = project(
        "builder", secondarySources=[source], timeoutInMinutes=55
    )
    build = start(codebuild)
    assert build["environment"] == ministack.projects["builder"]["environment"]
    assert build["secondarySources"] == [source]
    assert build["timeoutInMinutes"] == 55
    assert start(codebuild, "other")["timeoutInMinutes"] == 60


def test_the_source_and_its_buildspec_may_be_overridden(codebuild: CodeBuild) -> None:
    spec = json.dumps({"version": "0.2", "phases": {"build": {"commands": ["echo overridden"]}}})
    build = start(
        codebuild,
        buildspecOverride=spec,
        sourceTypeOverride="S3",
        sourceLocationOverride="assets/none.zip",
    )
    assert build["source"] == {"type": "S3", "location": "assets/none.zip", "buildspec": spec}
    assert "cannot unpack the source s3://assets/none.zip" in log_of(build)
    assert "overridden" in log_of(start(codebuild, buildspecOverride=spec))


def test_the_record_has_the_variables_that_the_build_gets(codebuild: CodeBuild) -> None:
    override = [{"name": "MODEL", "value": "from the request", "type": "PLAINTEXT"}]
    build = start(codebuild, environmentVariablesOverride=override)
    assert build["environment"]["environmentVariables"] == [
        *override,
        {"name": "KEPT", "value": "as it is", "type": "PLAINTEXT"},
    ]


def test_a_variable_that_is_not_plain_text_is_refused(codebuild: CodeBuild) -> None:
    secret = {"name": "TOKEN", "value": "/a/b", "type": "PARAMETER_STORE"}
    with pytest.raises(ApiError) as refused:
        start(codebuild, environmentVariablesOverride=[secret])
    assert refused.value.code == "InvalidInputException"
    assert refused.value.message == (
        "The local AWS has no PARAMETER_STORE variables: give TOKEN as PLAINTEXT."
    )
    assert codebuild.list_builds({})["ids"] == []


def test_an_override_changes_one_build_and_not_the_project(
    codebuild: CodeBuild, ministack: Ministack
) -> None:
    start(codebuild, imageOverride="other", environmentTypeOverride="ARM_CONTAINER")
    assert ministack.projects["builder"] == project("builder")


def test_commands_get_the_variables_of_request_project_and_service(
    codebuild: CodeBuild, ministack: Ministack
) -> None:
    names = "MODEL KEPT NEW CI AWS_ENDPOINT_URL CODEBUILD_BUILD_ID CODEBUILD_BUILD_ARN"
    commands = [f'for name in {names}; do echo "$name=${{!name}}"; done']
    spec = json.dumps({"version": "0.2", "phases": {"build": {"commands": commands}}})
    ministack.projects["builder"] = project("builder", buildspec=spec)
    override = [
        {"name": "MODEL", "value": "from the request"},
        {"name": "NEW", "value": "one more"},
    ]
    build = start(codebuild, environmentVariablesOverride=override)
    assert log_of(build).splitlines()[1:] == [
        "MODEL=from the request",
        "KEPT=as it is",
        "NEW=one more",
        "CI=true",
        "AWS_ENDPOINT_URL=http://127.0.0.1:1",
        f"CODEBUILD_BUILD_ID={build['id']}",
        f"CODEBUILD_BUILD_ARN={build['arn']}",
    ]


def test_builds_share_no_variables(codebuild: CodeBuild, ministack: Ministack) -> None:
    commands = ['echo "${ONLY_ONCE-unset}"']
    spec = json.dumps({"version": "0.2", "phases": {"build": {"commands": commands}}})
    ministack.projects["builder"] = project("builder", buildspec=spec)
    once = [{"name": "ONLY_ONCE", "value": "set"}]
    logs = [log_of(start(codebuild, environmentVariablesOverride=it)) for it in (once, [])]
    assert [log.splitlines()[-1] for log in logs] == ["set", "unset"]


# BatchGetBuilds, StopBuild, ListBuilds


def test_builds_are_found_in_the_order_asked_for_and_unknown_ones_are_named(
    codebuild: CodeBuild,
) -> None:
    first, second = start(codebuild)["id"], start(codebuild)["id"]
    answer = codebuild.batch_get({"ids": [second, "builder:none", first]})
    assert [build["id"] for build in answer["builds"]] == [second, first]
    assert answer["buildsNotFound"] == ["builder:none"]


def test_a_stopped_build_ends_as_stopped(codebuild: CodeBuild, ministack: Ministack) -> None:
    ministack.projects["builder"] = project("builder", buildspec=UNTIL_STOPPED)
    build = start(codebuild)
    wait_until_it_runs(build)
    assert codebuild.stop_build({"id": build["id"]})["build"]["id"] == build["id"]
    assert finished(build)["buildStatus"] == "STOPPED"


def test_stopping_a_build_that_does_not_exist_names_it(codebuild: CodeBuild) -> None:
    with pytest.raises(ApiError) as refused:
        codebuild.stop_build({"id": "builder:none"})
    assert refused.value.code == "ResourceNotFoundException"
    assert refused.value.message == "Build cannot be found: builder:none"


def test_builds_are_listed_newest_first_for_all_projects_or_one(codebuild: CodeBuild) -> None:
    names = ["builder", "other", "builder"]
    first, second, third = (start(codebuild, name)["id"] for name in names)
    assert codebuild.list_builds({})["ids"] == [third, second, first]
    assert codebuild.list_builds({"projectName": "builder"})["ids"] == [third, first]
    assert codebuild.list_builds({"projectName": "none"})["ids"] == []


def test_stop_ends_every_build_that_runs_and_leaves_the_others_as_they_ended(
    codebuild: CodeBuild, ministack: Ministack
) -> None:
    done = finished(start(codebuild, "other"))
    ministack.projects["builder"] = project("builder", buildspec=UNTIL_STOPPED)
    running = [start(codebuild) for _ in range(2)]
    for build in running:
        wait_until_it_runs(build)
    codebuild.stop()
    assert [build["buildStatus"] for build in running] == ["STOPPED", "STOPPED"]
    assert done["buildStatus"] == "SUCCEEDED"


# As a handler


def test_an_sdk_starts_reads_and_lists_builds(codebuild: CodeBuild, client_for: ClientFor) -> None:
    client = client_for("codebuild", codebuild.__call__)
    identifier = client.start_build(projectName="builder")["build"]["id"]
    (build,) = eventually(
        lambda: [
            it for it in client.batch_get_builds(ids=[identifier])["builds"] if it["buildComplete"]
        ]
    )
    assert build["buildStatus"] == "SUCCEEDED"
    assert build["startTime"] <= build["endTime"]
    assert build["phases"][0]["phaseType"] == "DOWNLOAD_SOURCE"
    assert client.list_builds_for_project(projectName="builder")["ids"] == [identifier]
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.start_build(projectName="none")


def test_requests_that_are_not_about_builds_go_to_ministack_unchanged(
    codebuild: CodeBuild, ministack: Ministack
) -> None:
    headers = {"X-Amz-Target": "CodeBuild_20161006.BatchGetProjects", "Other": "kept"}
    query = {"a": ["1"]}
    answer = asyncio.run(codebuild("POST", "/", headers, b'{"names": []}', query))
    assert answer == (200, {}, b'{"projects": []}')
    assert ministack.passed_on == [("POST", "/", headers, b'{"names": []}', query)]


def test_requests_about_builds_do_not_reach_ministack(
    codebuild: CodeBuild, ministack: Ministack
) -> None:
    headers = {"x-amz-target": "CodeBuild_20161006.ListBuilds"}
    _, _, body = asyncio.run(codebuild("POST", "/", headers, b"{}", {}))
    assert json.loads(body) == {"ids": []}
    assert ministack.passed_on == []
