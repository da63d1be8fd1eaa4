"""The Lambda functions of ModelBuilder, loaded from their file as Lambda does.

Stubs answer one call each and reject unexpected calls and parameters.
"""

import importlib.util
import io
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from botocore.response import StreamingBody
from botocore.stub import Stubber

INDEX = Path(__file__).parents[4] / "constructs/triton_sagemaker/build_handler/index.py"

BUILD = "models-Builder:0123"
PROPERTIES = {
    "Model": "minilm",
    "Alternative": "",
    "Digest": "d" * 64,
    "Target": "cuda-25.09-sm86",
    "Bucket": "models",
    "Key": "text/cuda-25.09-sm86/minilm-dddddddddddd.tar.gz",
    "Source": "assets/dev/0a1b.zip",
    "WaitMinutes": "50",
}
NOW, DEADLINE = 1_800_000_059, 1_800_000_000 + 50 * 60
FAILED_PHASE = {"phaseType": "BUILD", "phaseStatus": "FAILED", "contexts": [{"message": "killed"}]}
MANIFEST = {"Bucket": "models", "Key": "text/cuda-25.09-sm86/minilm-dddddddddddd.json"}
ARCHIVE = {"Bucket": "models", "Key": PROPERTIES["Key"], "ChecksumMode": "ENABLED"}
STARTED = {
    "projectName": "models-Builder",
    "idempotencyToken": f"request-1-{DEADLINE}-1",
    "secondarySourcesOverride": [{"type": "S3", "location": "assets/dev/0a1b.zip",
      "sourceIdentifier": "model"}],
    "environmentVariablesOverride": [{"name": name, "value": value, "type": "PLAINTEXT"} for name,
     value in (("MODEL_NAME", "minilm"), ("MODEL_DIGEST", "d" * 64), ("MODEL_TARGET",
       "cuda-25.09-sm86"), ("MODEL_BUCKET", "models"), ("MODEL_KEY",
       "text/cuda-25.09-sm86/minilm-dddddddddddd.tar.gz"), ("BUILD_DEADLINE", str(DEADLINE)),
      ("BUILD_REQUEST", "request-1"))],
}  # fmt: skip

LOG_LOCATION = {"deepLink": "https://log.example", "groupName": "log", "streamName": "0123"}
LOG = {"logGroupName": "log", "logStreamName": "0123", "startFromHead": False}


PULL_ERROR = {
    "phaseType": "PROVISIONING",
    "phaseStatus": "CLIENT_ERROR",
    "contexts": [{"statusCode": "BUILD_CONTAINER_UNABLE_TO_PULL_IMAGE",
      "message": "Unable to pull customer's container image. CannotPullContainerError: 401"}],
}  # fmt: skip
"""Status code and message as in aws/aws-cdk#10460, which does not show the phase status."""


def build(
    name: str, *, request: str = "request-1", started: int = NOW, **changes: Any
) -> dict[str, Any]:
    """Return a build as BatchGetBuilds does, started for a request of CloudFormation."""
    variables = [{"name": "BUILD_REQUEST", "value": request, "type": "PLAINTEXT"}]
    environment = {
        "type": "LINUX_CONTAINER",
        "image": "python",
        "computeType": "BUILD_GENERAL1_MEDIUM",
        "environmentVariables": variables,
    }
    return {
        "id": name,
        "buildStatus": "IN_PROGRESS",
        "environment": environment,
        "startTime": datetime.fromtimestamp(started, UTC),
        **changes,
    }


@dataclass
class Lambda:
    """The functions, and stubs of the AWS clients that they call."""

    index: ModuleType
    codebuild: Stubber
    logs: Stubber
    s3: Stubber

    def set_time(self, seconds: int) -> None:
        """Set the clock of the functions to a fixed time."""
        self.index.time = SimpleNamespace(time=lambda: seconds + 0.5)  # type: ignore[attr-defined]

    def on_event(self, request_type: str = "Create", **changes: str) -> dict[str, Any]:
        event: dict[str, Any] = {
            "RequestType": request_type,
            "RequestId": "request-1",
            "ResourceProperties": {**PROPERTIES, **changes},
        }
        if request_type != "Create":
            event["PhysicalResourceId"] = "model/minilm"
        answer: dict[str, Any] = self.index.on_event(event, None)
        return answer

    def is_complete(self, *, build_id: str | None = BUILD, **changes: str) -> dict[str, Any]:
        """Poll once, with the build ID as a delivery, or without it as the provider framework."""
        event = {
            "RequestType": "Create",
            "RequestId": "request-1",
            "PhysicalResourceId": "model/minilm",
            "Deadline": DEADLINE,
            "ResourceProperties": {**PROPERTIES, **changes},
        }
        answer: dict[str, Any] = self.index.is_complete(
            {**event, "BuildId": build_id} if build_id else event, None
        )
        return answer

    def expect_no_archive(self) -> None:
        self.s3.add_client_error("get_object", "NoSuchKey", expected_params=MANIFEST)

    def expect_archive(self, checksum: str | None, *, digest: str = "d" * 64) -> None:
        """Expect reads of a manifest with checksum AAAA-1, or without one, and of the archive."""
        manifest = {"digest": digest, "archive": {"checksum": "AAAA-1"} if checksum else {}}
        body = json.dumps(manifest).encode()
        content = StreamingBody(io.BytesIO(body), len(body))
        self.s3.add_response("get_object", {"Body": content}, MANIFEST)
        head = {"ChecksumSHA256": checksum} if checksum else {}
        self.s3.add_response("head_object", head, ARCHIVE)

    def expect_start(self, expected: dict[str, Any], build: str = BUILD) -> None:
        started = {"id": build, "buildStatus": "IN_PROGRESS"}
        self.codebuild.add_response("start_build", {"build": started}, expected)

    def expect_start_error(self, code: str, message: str = "", status: int = 400) -> None:
        self.codebuild.add_client_error("start_build", code, message, http_status_code=status)

    def expect_build_read(self, *builds: dict[str, Any]) -> None:
        """Expect a read of the build in the event."""
        self.codebuild.add_response("batch_get_builds", {"builds": list(builds)}, {"ids": [BUILD]})

    def expect_build_search(self, *builds: dict[str, Any]) -> None:
        """Expect a search for the build among all builds of the project."""
        self.codebuild.add_response(
            "list_builds_for_project",
            {"ids": [build["id"] for build in builds]} if builds else {},
            {"projectName": "models-Builder"},
        )
        if builds:
            self.codebuild.add_response(
                "batch_get_builds",
                {"builds": list(builds)},
                {"ids": [build["id"] for build in builds]},
            )

    def expect_log_read(self, *messages: str) -> None:
        events = [{"timestamp": 0, "message": message, "ingestionTime": 0} for message in messages]
        self.logs.add_response("get_log_events", {"events": events}, LOG)


@pytest.fixture
def function(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lambda]:
    monkeypatch.setenv("BUCKET", "models")
    monkeypatch.setenv("MODEL_SOURCES", "assets/dev/*.zip")
    monkeypatch.setenv("PROJECT", "models-Builder")
    spec = importlib.util.spec_from_file_location("index", INDEX)
    assert spec is not None
    assert spec.loader is not None
    index = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(index)
    session = boto3.Session("key", "secret", region_name="us-east-1")
    clients: dict[str, Any] = {
        "codebuild": session.client("codebuild"),
        "logs": session.client("logs"),
        "s3": session.client("s3"),
    }
    monkeypatch.setattr(boto3, "client", clients.__getitem__)
    with ExitStack() as stack:
        stubs = {name: stack.enter_context(Stubber(client)) for name, client in clients.items()}
        function = Lambda(index, **stubs)
        function.set_time(NOW)
        yield function
        for stub in stubs.values():
            stub.assert_no_pending_responses()


@pytest.mark.parametrize("request_type", ["Create", "Update"])
def test_deadline_follows_from_wait_minutes(function: Lambda, request_type: str) -> None:
    # No call of AWS: CloudFormation does not retry errors of this handler.
    answer = function.on_event(request_type)
    assert answer == {"PhysicalResourceId": "model/minilm", "Deadline": DEADLINE}


def test_deadline_is_rounded_to_the_minute(function: Lambda) -> None:
    # CodeBuild rejects a known token with other parameters (API reference, StartBuild).
    function.set_time(1_800_000_000)
    first = function.on_event()
    function.set_time(NOW)
    assert function.on_event() == first


def test_deletion_keeps_the_archive(function: Lambda) -> None:
    answer = function.on_event("Delete")
    assert answer == {"PhysicalResourceId": "model/minilm"}
    assert function.index.is_complete({**answer, "ResourceProperties": PROPERTIES}, None) == {
        "IsComplete": True
    }


def test_existing_archive_is_not_rebuilt(function: Lambda) -> None:
    function.expect_build_search()
    function.expect_archive("AAAA-1")
    assert function.is_complete(build_id=None) == {"IsComplete": True}


def test_deleted_archive_is_rebuilt(function: Lambda) -> None:
    function.expect_build_search()
    body = json.dumps({"digest": "d" * 64, "archive": {"checksum": "AAAA-1"}}).encode()
    content = StreamingBody(io.BytesIO(body), len(body))
    function.s3.add_response("get_object", {"Body": content}, MANIFEST)
    function.s3.add_client_error("head_object", "404", expected_params=ARCHIVE)
    function.expect_start(STARTED)
    assert function.is_complete(build_id=None) == {"IsComplete": False, "BuildId": BUILD}


@pytest.mark.parametrize(("checksum", "digest"), [("BBBB-1", "d" * 64), ("AAAA-1", "e" * 64)])
def test_replaced_archive_is_an_error(function: Lambda, checksum: str, digest: str) -> None:
    function.expect_build_search()
    function.expect_archive(checksum, digest=digest)
    with pytest.raises(RuntimeError, match="the archive was replaced"):
        function.is_complete(build_id=None)


INVALID_PROPERTIES: list[dict[str, str]] = [
    {"Key": "text/cuda-25.09-sm86/bert-dddddddddddd.tar.gz"},
    {"Key": "text/cuda-25.09-sm86/minilm-eeeeeeeeeeee.tar.gz"},
    {"Key": "text/cpu-25.09/minilm-dddddddddddd.tar.gz"},
    {"Key": "text/published/cuda-25.09-sm86/minilm-dddddddddddd.tar.gz"},
    {"Model": "x/minilm", "Key": "text/cuda-25.09-sm86/x/minilm-dddddddddddd.tar.gz"},
    {"Digest": "d" * 12},
    {"Bucket": "others"},
    {"Source": "models/text/cuda-25.09-sm86/published/evil.zip"},
    {"Source": f"models/sources/{'e' * 64}.zip"},
    {"Source": "evil/0a1b.zip"},
]


@pytest.mark.parametrize("changes", INVALID_PROPERTIES, ids=str)
def test_unexpected_key_or_source_is_rejected(function: Lambda, changes: dict[str, str]) -> None:
    # No call of S3 or CodeBuild.
    for call in (function.on_event, function.is_complete):
        with pytest.raises(RuntimeError, match="nothing is built"):
            call(**changes)


def test_archived_source_is_accepted(function: Lambda) -> None:
    assert "Deadline" in function.on_event(Source=f"models/sources/{'d' * 64}.zip")


@pytest.mark.parametrize("code", ["404", "NoSuchKey", "NotFound"])
def test_missing_archive_starts_a_build(function: Lambda, code: str) -> None:
    function.expect_build_search()
    function.s3.add_client_error("get_object", code, expected_params=MANIFEST)
    function.expect_start(STARTED)
    assert function.is_complete(build_id=None) == {"IsComplete": False, "BuildId": BUILD}


def test_alternative_is_passed_to_the_build(function: Lambda) -> None:
    values = STARTED["environmentVariablesOverride"]
    assert isinstance(values, list)
    alternative = {"name": "MODEL_ALTERNATIVE", "value": "onnx", "type": "PLAINTEXT"}
    function.expect_build_search()
    function.expect_no_archive()
    function.expect_start(
        {**STARTED, "environmentVariablesOverride": [values[0], alternative, *values[1:]]}
    )
    function.is_complete(build_id=None, Alternative="onnx")


def test_access_denied_starts_no_build(function: Lambda) -> None:
    function.expect_build_search()
    function.s3.add_client_error("get_object", "403", http_status_code=403)
    with pytest.raises(ClientError, match="403"):
        function.is_complete(build_id=None)


def test_poll_finds_the_build_of_its_request(function: Lambda) -> None:
    # Every poll of the provider has the first event, without the build ID.
    other_build = build("models-Builder:9", request="request-2", buildStatus="FAILED")
    function.expect_build_search(other_build, build(BUILD))
    assert function.is_complete(build_id=None) == {"IsComplete": False, "BuildId": BUILD}


def test_builds_are_searched_page_by_page(function: Lambda) -> None:
    for token, page_build in (
        (None, build("b:3", request="request-3")),
        ("page-2", build(BUILD, buildStatus="SUCCEEDED")),
        ("page-3", build("b:1", request="request-0", started=NOW - 3600)),
    ):
        request = {"projectName": "models-Builder", **({"nextToken": token} if token else {})}
        number = int((token or "page-1")[-1])
        function.codebuild.add_response(
            "list_builds_for_project",
            {"ids": [page_build["id"]], "nextToken": f"page-{number + 1}"},
            request,
        )
        function.codebuild.add_response(
            "batch_get_builds", {"builds": [page_build]}, {"ids": [page_build["id"]]}
        )
    assert function.is_complete(build_id=None) == {"IsComplete": True}


@pytest.mark.parametrize(
    ("code", "message", "status"),
    [
        ("AccountLimitExceededException", "Cannot have more than 1 builds in queue", 400),
        ("ThrottlingException", "Rate exceeded", 400),
        ("InternalFailure", "", 500),
        ("ServiceUnavailable", "", 503),
    ],
)
def test_throttled_start_is_retried_by_the_next_poll(
    function: Lambda, code: str, message: str, status: int
) -> None:
    function.expect_build_search()
    function.expect_no_archive()
    function.expect_start_error(code, f"{message} for the account", status)
    assert function.is_complete(build_id=None) == {"IsComplete": False}
    function.expect_build_search()
    function.expect_no_archive()
    function.expect_start(STARTED)
    assert function.is_complete(build_id=None) == {"IsComplete": False, "BuildId": BUILD}


def test_account_limit_of_zero_builds_is_an_error(function: Lambda) -> None:
    function.expect_build_search()
    function.expect_no_archive()
    function.expect_start_error(
        "AccountLimitExceededException", "Cannot have more than 0 builds in queue for the account"
    )
    with pytest.raises(ClientError, match="more than 0 builds"):
        function.is_complete(build_id=None)


def test_full_queue_after_the_deadline_is_an_error(function: Lambda) -> None:
    function.set_time(DEADLINE + 120)
    function.expect_build_search()
    function.expect_no_archive()
    function.expect_start_error(
        "AccountLimitExceededException", "Cannot have more than 1 builds in queue for the account"
    )
    with pytest.raises(RuntimeError, match=r"50 minutes, .* still waiting to start: .*1 builds"):
        function.is_complete(build_id=None)


@pytest.mark.parametrize(
    ("code", "status", "is_transient"),
    [
        ("ThrottlingException", 400, True),
        ("SlowDown", 503, True),
        ("500", 500, True),
        ("AccessDeniedException", 400, False),
    ],
)
def test_only_transient_errors_are_retried(
    function: Lambda, code: str, status: int, is_transient: bool
) -> None:
    function.codebuild.add_client_error("batch_get_builds", code, http_status_code=status)
    if is_transient:
        assert function.is_complete() == {"IsComplete": False}
    else:
        with pytest.raises(ClientError, match=code):
            function.is_complete()


def test_connection_error_is_retried(function: Lambda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        function.index,
        "_find_builds",
        Mock(side_effect=ReadTimeoutError(endpoint_url="https://codebuild")),
    )
    assert function.is_complete() == {"IsComplete": False}


def test_build_is_restarted_after_an_image_pull_error(function: Lambda) -> None:
    failed = build(BUILD, buildStatus="FAILED", phases=[PULL_ERROR])
    function.expect_build_read(failed)
    function.expect_build_search(failed)
    function.expect_start(
        {**STARTED, "idempotencyToken": f"request-1-{DEADLINE}-2"}, "models-Builder:2"
    )
    assert function.is_complete() == {"IsComplete": False, "BuildId": "models-Builder:2"}


def test_second_image_pull_error_is_an_error(function: Lambda) -> None:
    builds = [
        build(
            f"models-Builder:{number}",
            started=NOW + number,
            buildStatus="FAILED",
            phases=[PULL_ERROR],
        )
        for number in (1, 2)
    ]
    function.expect_build_search(*builds)
    with pytest.raises(RuntimeError, match=r"its image could not be pulled: .*: 401\. Log"):
        function.is_complete(build_id=None)


def test_newest_build_decides(function: Lambda) -> None:
    first = build("models-Builder:1", buildStatus="FAILED", phases=[PULL_ERROR])
    second = build("models-Builder:2", started=NOW + 60, buildStatus="SUCCEEDED")
    function.expect_build_search(first, second)
    assert function.is_complete(build_id=None) == {"IsComplete": True}


def test_failed_build_is_not_restarted(function: Lambda) -> None:
    function.expect_build_search(build(BUILD, buildStatus="FAILED", phases=[FAILED_PHASE]))
    with pytest.raises(RuntimeError, match=r"^Build of minilm failed in phase BUILD: killed\."):
        function.is_complete(build_id=None)


def test_build_has_a_grace_period_after_the_deadline(function: Lambda) -> None:
    function.set_time(DEADLINE + 119)
    function.expect_build_read(build(BUILD))
    assert function.is_complete() == {"IsComplete": False, "BuildId": BUILD}


def test_running_build_after_the_deadline_is_an_error(function: Lambda) -> None:
    function.set_time(DEADLINE + 120)
    function.expect_build_read(build(BUILD))
    with pytest.raises(RuntimeError, match=f"50 minutes, minilm is still building: {BUILD}. The"):
        function.is_complete()


PHASES = [
    {"phaseType": "INSTALL", "phaseStatus": "SUCCEEDED"},
    {"phaseType": "BUILD", "phaseStatus": "FAILED", "contexts": [{"message": "exit status 3"},
      {"message": "another"}]},
    {"phaseType": "FINALIZING", "phaseStatus": "FAILED"},
    {"phaseType": "COMPLETED"},
]  # fmt: skip
LINK = {"deepLink": "https://log.example"}


@pytest.mark.parametrize(
    ("build", "log", "message"),
    [
        ({"buildStatus": "FAILED", "logs": LINK, "phases": PHASES}, None,
         "failed in phase BUILD: exit status 3. Log: https://log.example . The endpoint and its "
         "archives are unchanged."),
        ({"buildStatus": "FAULT", "logs": LINK, "phases": PHASES}, None, "fault in phase BUILD"),
        ({"buildStatus": "STOPPED", "phases": [PHASES[0], PHASES[-1]]}, None, "stopped. Log: "),
        ({"buildStatus": "FAILED", "logs": LOG_LOCATION, "phases": [FAILED_PHASE]},
         ["error: an attempt, which was made again\n",
          "[build] export\nerror: the recipe's gate allows 0.01.\n",
          "COMMAND_EXECUTION_ERROR: the error: of CodeBuild\n"],
         "failed: the recipe's gate allows 0.01. Log: https://log.example . The endpoint"),
    ],
    ids=["phase and log", "fault", "no failed phase", "logged error"],
)  # fmt: skip
def test_failed_build_error_has_its_reason(
    function: Lambda, build: dict[str, Any], log: list[str] | None, message: str
) -> None:
    function.expect_build_read(build)
    if log is not None:
        function.expect_log_read(*log)
    with pytest.raises(RuntimeError, match=f"^Build of minilm {message}"):
        function.is_complete()


def test_missing_log_does_not_hide_the_failed_phase(function: Lambda) -> None:
    function.expect_build_read(
        {"buildStatus": "FAILED", "logs": LOG_LOCATION, "phases": [FAILED_PHASE]}
    )
    function.logs.add_client_error("get_log_events", "ResourceNotFoundException")
    with pytest.raises(RuntimeError, match=r"^Build of minilm failed in phase BUILD: killed\."):
        function.is_complete()


def test_long_error_is_truncated_for_cloudformation(function: Lambda) -> None:
    function.expect_build_read({"buildStatus": "FAILED", "logs": LOG_LOCATION})
    function.expect_log_read("error: " + 9 * "too long " * 1000)
    with pytest.raises(RuntimeError) as failure:
        function.is_complete()
    assert len(str(failure.value)) < 2048


def test_unknown_build_is_an_error(function: Lambda) -> None:
    function.expect_build_read()
    with pytest.raises(RuntimeError, match=f"CodeBuild has no build {BUILD}. The endpoint"):
        function.is_complete()
