"""The functions behind BuiltModel, run as Lambda runs them: as a file that imports nothing of ours.

Stubs answer one call each, and refuse every call and every parameter that a test does not expect.
"""

import importlib.util
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

INDEX = Path(__file__).parents[4] / "constructs/triton_sagemaker/build_handler/index.py"

BUILD = "models-Builder:0123"
WANTED = {
    "Model": "minilm",
    "Alternative": "",
    "Digest": "d" * 64,
    "Target": "cuda-25.09-sm86",
    "Bucket": "models",
    "Key": "text/cuda-25.09-sm86/minilm-dddddddddddd.tar.gz",
    "Source": "assets/0a1b.zip",
    "WaitMinutes": "50",
}
NOW, DEADLINE = 1_800_000_059, 1_800_000_000 + 50 * 60
FAILED_PHASE = {
    "phaseType": "BUILD",
    "phaseStatus": "FAILED",
    "contexts": [{"message": "killed"}],
}
MANIFEST = {"Bucket": "models", "Key": "text/cuda-25.09-sm86/minilm-dddddddddddd.json"}
STARTED = {
    "projectName": "models-Builder",
    "idempotencyToken": f"request-1-{DEADLINE}",
    "secondarySourcesOverride": [
        {"type": "S3", "location": "assets/0a1b.zip", "sourceIdentifier": "model"}
    ],
    "environmentVariablesOverride": [
        {"name": name, "value": value, "type": "PLAINTEXT"}
        for name, value in (
            ("MODEL_NAME", "minilm"),
            ("MODEL_DIGEST", "d" * 64),
            ("MODEL_TARGET", "cuda-25.09-sm86"),
            ("MODEL_BUCKET", "models"),
            ("MODEL_KEY", "text/cuda-25.09-sm86/minilm-dddddddddddd.tar.gz"),
            ("BUILD_DEADLINE", str(DEADLINE)),
        )
    ],
}

LOGGED = {"deepLink": "https://log.example", "groupName": "log", "streamName": "0123"}
LOG = {"logGroupName": "log", "logStreamName": "0123", "startFromHead": False}


@dataclass
class Lambda:
    """The functions, with what AWS answers them."""

    index: ModuleType
    codebuild: Stubber
    logs: Stubber
    s3: Stubber

    def at(self, seconds: int) -> None:
        """Set the clock, which stands still."""
        self.index.time = SimpleNamespace(time=lambda: seconds + 0.5)  # type: ignore[attr-defined]

    def on_event(self, request_type: str = "Create", **changes: str) -> dict[str, Any]:
        event: dict[str, Any] = {
            "RequestType": request_type,
            "RequestId": "request-1",
            "ResourceProperties": {**WANTED, **changes},
        }
        if request_type != "Create":
            event["PhysicalResourceId"] = "model/minilm"
        answer: dict[str, Any] = self.index.on_event(event, None)
        return answer

    def is_complete(self) -> dict[str, bool]:
        event = {"BuildId": BUILD, "Deadline": DEADLINE, "ResourceProperties": WANTED}
        answer: dict[str, bool] = self.index.is_complete(event, None)
        return answer

    def has_no_archive(self) -> None:
        self.s3.add_client_error("head_object", "404", expected_params=MANIFEST)

    def starts(self, expected: dict[str, Any]) -> None:
        self.codebuild.add_response("start_build", {"build": {"id": BUILD}}, expected)

    def has_builds(self, *builds: dict[str, Any]) -> None:
        self.codebuild.add_response("batch_get_builds", {"builds": list(builds)}, {"ids": [BUILD]})

    def has_logged(self, *messages: str) -> None:
        events = [{"timestamp": 0, "message": it, "ingestionTime": 0} for it in messages]
        self.logs.add_response("get_log_events", {"events": events}, LOG)


@pytest.fixture
def function(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lambda]:
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
        stubs = {name: stack.enter_context(Stubber(it)) for name, it in clients.items()}
        function = Lambda(index, **stubs)
        function.at(NOW)
        yield function
        for stub in stubs.values():
            stub.assert_no_pending_responses()


@pytest.mark.parametrize("request_type", ["Create", "Update"])
def test_an_archive_that_is_there_is_not_built_again(function: Lambda, request_type: str) -> None:
    function.s3.add_response("head_object", {}, MANIFEST)
    assert function.on_event(request_type) == {"PhysicalResourceId": "model/minilm"}


def test_nothing_to_build_is_complete(function: Lambda) -> None:
    assert function.index.is_complete({"ResourceProperties": WANTED}, None) == {"IsComplete": True}


@pytest.mark.parametrize("request_type", ["Create", "Update"])
@pytest.mark.parametrize("code", ["404", "NoSuchKey", "NotFound"])
def test_an_archive_that_is_not_there_is_built_as_the_properties_say(
    function: Lambda, code: str, request_type: str
) -> None:
    function.s3.add_client_error("head_object", code, expected_params=MANIFEST)
    function.starts(STARTED)
    answer = function.on_event(request_type)
    assert answer == {
        "PhysicalResourceId": "model/minilm",
        "BuildId": BUILD,
        "Deadline": DEADLINE,
    }


def test_an_event_that_is_delivered_twice_asks_for_the_same_build(function: Lambda) -> None:
    # CodeBuild refuses a known token with other parameters (API reference, StartBuild).
    for seconds in (1_800_000_000, NOW):
        function.at(seconds)
        function.has_no_archive()
        function.starts(STARTED)
        function.on_event()


def test_an_alternative_is_named_to_the_build_where_a_source_offers_several(
    function: Lambda,
) -> None:
    given = STARTED["environmentVariablesOverride"]
    assert isinstance(given, list)
    alternative = {"name": "MODEL_ALTERNATIVE", "value": "onnx", "type": "PLAINTEXT"}
    function.has_no_archive()
    function.starts(
        {**STARTED, "environmentVariablesOverride": [given[0], alternative, *given[1:]]}
    )
    function.on_event(Alternative="onnx")


@pytest.mark.parametrize("code", ["403", "AccessDenied", "SlowDown", "500"])
def test_whatever_else_s3_says_starts_no_build(function: Lambda, code: str) -> None:
    function.s3.add_client_error("head_object", code, expected_params=MANIFEST)
    with pytest.raises(ClientError, match=code):
        function.on_event()


def test_deleting_keeps_the_archive_and_starts_nothing(function: Lambda) -> None:
    # No stub answers: a call of S3 or CodeBuild would fail.
    assert function.on_event("Delete") == {"PhysicalResourceId": "model/minilm"}


def test_a_build_has_some_time_to_say_itself_what_it_waits_for(function: Lambda) -> None:
    function.at(DEADLINE + 119)
    function.has_builds({"buildStatus": "IN_PROGRESS"})
    assert function.is_complete() == {"IsComplete": False}


def test_a_build_that_goes_on_past_the_deadline_fails_the_deploy_and_is_named(
    function: Lambda,
) -> None:
    function.at(DEADLINE + 120)
    function.has_builds({"buildStatus": "IN_PROGRESS"})
    with pytest.raises(RuntimeError) as failure:
        function.is_complete()
    assert str(failure.value) == (
        "Build of minilm is not done after 50 minutes, and goes on: models-Builder:0123. The "
        "endpoint and its archives are as they were. Deploy again: what is built by then is found; "
        "or run `make deliver`, which waits longer than CloudFormation can."
    )


@pytest.mark.parametrize(("status", "complete"), [("IN_PROGRESS", False), ("SUCCEEDED", True)])
def test_a_build_that_goes_well_is_waited_for(
    function: Lambda, status: str, complete: bool
) -> None:
    function.has_builds({"buildStatus": status})
    assert function.is_complete() == {"IsComplete": complete}


@pytest.mark.parametrize(
    ("status", "said"), [("FAILED", "failed"), ("STOPPED", "stopped"), ("FAULT", "fault")]
)
def test_a_failed_build_fails_the_deploy_with_its_reason_and_its_log(
    function: Lambda, status: str, said: str
) -> None:
    function.has_builds(
        {
            "buildStatus": status,
            "logs": {"deepLink": "https://log.example"},
            "phases": [
                {"phaseType": "INSTALL", "phaseStatus": "SUCCEEDED"},
                {
                    "phaseType": "BUILD",
                    "phaseStatus": status,
                    "contexts": [{"message": "exit status 3"}, {"message": "another"}],
                },
                {"phaseType": "FINALIZING", "phaseStatus": "FAILED"},
                {"phaseType": "COMPLETED"},
            ],
        }
    )
    with pytest.raises(RuntimeError) as failure:
        function.is_complete()
    assert str(failure.value) == (
        f"Build of minilm {said} in phase BUILD: exit status 3. Log: https://log.example . The "
        "endpoint and its archives are as they were."
    )


def test_a_phase_that_has_not_ended_is_not_told_as_the_one_that_failed(function: Lambda) -> None:
    submitted = {"phaseType": "SUBMITTED", "phaseStatus": "SUCCEEDED"}
    function.has_builds(
        {"buildStatus": "STOPPED", "phases": [submitted, {"phaseType": "COMPLETED"}]}
    )
    with pytest.raises(RuntimeError, match=r"^Build of minilm stopped\. Log: "):
        function.is_complete()


def test_a_failed_build_s_own_last_error_is_told(function: Lambda) -> None:
    function.has_builds({"buildStatus": "FAILED", "logs": LOGGED, "phases": [FAILED_PHASE]})
    function.has_logged(
        "error: an attempt, which was made again\n",
        "[build] export\nerror: the recipe's gate allows 0.01.\n",
        "COMMAND_EXECUTION_ERROR: the error: of CodeBuild\n",
    )
    with pytest.raises(RuntimeError) as failure:
        function.is_complete()
    assert str(failure.value) == (
        "Build of minilm failed: the recipe's gate allows 0.01. Log: https://log.example . The "
        "endpoint and its archives are as they were."
    )


def test_a_failed_build_that_said_no_error_is_told_by_its_phase(function: Lambda) -> None:
    function.has_builds({"buildStatus": "TIMED_OUT", "logs": LOGGED, "phases": [FAILED_PHASE]})
    function.has_logged("[build] export\n")
    with pytest.raises(RuntimeError, match=r"^Build of minilm timed out in phase BUILD: killed\."):
        function.is_complete()


def test_a_log_that_cannot_be_read_does_not_hide_how_a_build_ended(function: Lambda) -> None:
    function.has_builds({"buildStatus": "FAILED", "logs": LOGGED, "phases": [FAILED_PHASE]})
    function.logs.add_client_error("get_log_events", "ResourceNotFoundException")
    with pytest.raises(RuntimeError, match=r"^Build of minilm failed in phase BUILD: killed\."):
        function.is_complete()


def test_an_error_of_any_length_fits_into_what_cloudformation_takes(function: Lambda) -> None:
    function.has_builds({"buildStatus": "FAILED", "logs": LOGGED})
    function.has_logged("error: " + 9 * "too long " * 1000)
    with pytest.raises(RuntimeError) as failure:
        function.is_complete()
    assert len(str(failure.value)) < 2048


def test_a_build_that_codebuild_forgot_fails_the_deploy(function: Lambda) -> None:
    function.has_builds()
    with pytest.raises(RuntimeError, match=f"CodeBuild knows no build {BUILD}. The endpoint"):
        function.is_complete()
