"""The Lambda functions of ModelBuilder, loaded from their file as Lambda does.

An account in memory has the list, the archives and the builds.
"""

import hashlib
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from platform_facts.rules.builds import BuildItem
from tests.modules import load_module
from tests.unit.model_build.engines.fake_codebuild import PULL_FAILED

INDEX = Path(__file__).parents[4] / "constructs/triton_sagemaker/build_handler/index.py"

Record = dict[str, Any]
NOW, DEADLINE = 1_800_000_059, 1_800_000_000 + 50 * 60
OLDER, NEWER = datetime.fromtimestamp(1, UTC), datetime.fromtimestamp(2, UTC)
UNCHANGED = "The endpoint is unchanged, and archives that are built are not built again."

FAILED_PHASE = {"phaseType": "BUILD", "phaseStatus": "FAILED", "contexts": [{"message": "killed"}]}
INSTALL_PHASE = {**FAILED_PHASE, "phaseType": "INSTALL"}


def make_item(model: str, **changes: Any) -> BuildItem:
    """Return an archive of the endpoint `text`."""
    values: Record = {
        "source": "prod/0a1b.zip",
        "model": model,
        "digest": hashlib.sha256(model.encode()).hexdigest(),
        "target": "cpu-25.09",
    }
    values |= changes
    key = f"text/{values['target']}/{model}-{values['digest'][:12]}.tar.gz"
    return BuildItem(**{"key": key, **values})


def items(count: int) -> list[BuildItem]:
    return [make_item(f"model-{number:04}") for number in range(1, count + 1)]


def client_error(code: str, message: str = "", status: int = 400) -> ClientError:
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(response, "StartBuild")


@dataclass
class Account:
    """An account in memory: clients of S3, CodeBuild and CloudWatch Logs, and the functions.

    `objects` has the time of each object of the bucket of archives. `errors` are raised by the next
    calls of StartBuild. `throttled` are reads of earlier lists.
    """

    index: ModuleType
    items: list[BuildItem] = field(default_factory=list)
    objects: dict[str, datetime] = field(default_factory=dict)
    manifests: dict[str, Record] = field(default_factory=dict)
    builds: list[Record] = field(default_factory=list)
    tokens: dict[str, Record] = field(default_factory=dict)
    logs: dict[str, list[str]] = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list)
    list_key: str = "assets/prod/0a1b.jsonl"
    earlier_lists: dict[str, bytes] = field(default_factory=dict)
    throttled: bool = False
    page_size: int = 100

    def client(self, service: str) -> "Account":
        assert service in ("codebuild", "logs", "s3")
        return self

    # S3

    def content(self) -> bytes:
        return "".join(f"{item.as_json()}\n" for item in self.items).encode()

    def get_object(self, *, Bucket: str, Key: str) -> Record:  # noqa: N803
        if f"{Bucket}/{Key}" == self.list_key:
            return {"Body": io.BytesIO(self.content())}
        if f"{Bucket}/{Key}" in self.earlier_lists:
            if self.throttled:
                raise client_error("ThrottlingException")
            return {"Body": io.BytesIO(self.earlier_lists[f"{Bucket}/{Key}"])}
        if Bucket == "assets":
            raise client_error("NoSuchKey")
        assert Bucket == "models"
        return {"Body": io.BytesIO(json.dumps(self.manifests[Key]).encode())}

    def head_object(self, *, Bucket: str, Key: str, ChecksumMode: str) -> Record:  # noqa: N803
        assert (Bucket, ChecksumMode) == ("models", "ENABLED")
        assert Key in self.objects
        return {"ChecksumSHA256": "AAAA-1"}

    def finish(self, item: BuildItem) -> None:
        """Write an archive, and then its manifest."""
        self.objects |= {item.key: OLDER, item.key.replace(".tar.gz", ".json"): NEWER}

    # CodeBuild

    def start_build(
        self,
        *,
        projectName: str,  # noqa: N803
        idempotencyToken: str,  # noqa: N803
        environmentVariablesOverride: list[Record],  # noqa: N803
    ) -> Record:
        assert projectName == "models-Builder"
        if self.errors:
            raise self.errors.pop(0)
        if idempotencyToken not in self.tokens:
            build = {
                "id": f"b:{len(self.builds) + 1}",
                "buildStatus": "IN_PROGRESS",
                "startTime": datetime.fromtimestamp(NOW + len(self.builds), UTC),
                "environment": {"environmentVariables": environmentVariablesOverride},
            }
            self.builds.append(build)
            self.tokens[idempotencyToken] = build
        return {"build": self.tokens[idempotencyToken]}

    def end(self, build: str, status: str, *phases: Record, log: str = "") -> None:
        """End a build, with the lines of its log."""
        (record,) = (record for record in self.builds if record["id"] == build)
        record |= {"buildStatus": status, "phases": list(phases)}
        if log:
            self.logs[build] = [log]
            names = {"groupName": "log", "streamName": build}
            record["logs"] = {"deepLink": "https://log.example", **names}

    def batch_get_builds(self, *, ids: list[str]) -> Record:
        return {"builds": [build for build in self.builds if build["id"] in ids]}

    def get_log_events(self, *, logStreamName: str, **_: Any) -> Record:  # noqa: N803
        if logStreamName not in self.logs:
            raise client_error("ResourceNotFoundException")
        return {"events": [{"message": message} for message in self.logs[logStreamName]]}

    # Both

    def get_paginator(self, operation: str) -> SimpleNamespace:
        pages: dict[str, Callable[..., Iterator[Record]]] = {
            "list_objects_v2": self._list_objects,
            "list_builds_for_project": self._list_builds,
        }
        return SimpleNamespace(paginate=pages[operation])

    def _list_objects(self, *, Bucket: str, Prefix: str, Delimiter: str) -> Iterator[Record]:  # noqa: N803
        assert (Bucket, Delimiter) == ("models", "/")
        yield {}
        for key, time in self.objects.items():
            if key.startswith(Prefix) and "/" not in key.removeprefix(Prefix):
                yield {"Contents": [{"Key": key, "LastModified": time}]}

    def _list_builds(self, *, projectName: str) -> Iterator[Record]:  # noqa: N803
        assert projectName == "models-Builder"
        ids = [build["id"] for build in reversed(self.builds)]
        yield from (
            {"ids": ids[start : start + self.page_size]}
            for start in range(0, max(1, len(ids)), self.page_size)
        )

    # The functions

    def set_time(self, seconds: int) -> None:
        self.index.time = SimpleNamespace(time=lambda: seconds + 0.5)  # type: ignore[attr-defined]

    def properties(self, **changes: str) -> Record:
        values = {
            "List": self.list_key,
            "Digest": hashlib.sha256(self.content()).hexdigest(),
            "Bucket": "models",
            "WaitMinutes": "50",
        }
        return {**values, **changes}

    def on_event(self, request_type: str = "Create") -> Record:
        event = {"RequestType": request_type, "ResourceProperties": self.properties()}
        answer: Record = self.index.on_event(event, None)
        return answer

    def poll(self, request: str = "request-1", **changes: str) -> Record:
        """Poll once, with the same event each time, as the provider framework does."""
        event = {
            "RequestType": "Create",
            "RequestId": request,
            "Deadline": DEADLINE,
            "ResourceProperties": self.properties(**changes),
        }
        answer: Record = self.index.is_complete(event, None)
        return answer

    def error(self, **changes: str) -> str:
        with pytest.raises(RuntimeError) as failure:
            self.poll(**changes)
        return str(failure.value)

    def lines(self) -> list[str]:
        """Return the lines of the list that each build was started for."""
        return [self.variables(build)["BUILD_LINES"] for build in self.builds]

    @staticmethod
    def variables(build: Record) -> dict[str, str]:
        variables = build["environment"]["environmentVariables"]
        return {variable["name"]: variable["value"] for variable in variables}


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Account:
    monkeypatch.setenv("ASSETS", "assets/prod/")
    monkeypatch.setenv("BUCKET", "models")
    monkeypatch.setenv("PROJECT", "models-Builder")
    account = Account(load_module(INDEX))
    monkeypatch.setattr(boto3, "client", account.client)
    account.set_time(NOW)
    return account


@pytest.mark.parametrize("request_type", ["Create", "Update"])
def test_deadline_follows_from_wait_minutes(account: Account, request_type: str) -> None:
    # Rounded, since CodeBuild rejects a known token with other parameters (API, StartBuild).
    answer = account.on_event(request_type)
    assert answer == {"PhysicalResourceId": "archives", "Deadline": DEADLINE}


def test_deletion_keeps_archives(account: Account) -> None:
    old = {"Model": "minilm"}  # of a resource of an older version
    event = {
        "RequestType": "Delete",
        "PhysicalResourceId": "model/minilm",
        "ResourceProperties": old,
    }
    answer = account.index.on_event(event, None)
    assert answer == {"PhysicalResourceId": "model/minilm"}
    assert account.index.is_complete({**event, **answer}, None) == {"IsComplete": True}


def test_archive_without_manifest_and_manifest_without_archive_are_built(account: Account) -> None:
    account.items = items(2)
    for item in account.items:
        account.finish(item)
    del account.objects[account.items[0].key]
    del account.objects[account.items[1].key.replace(".tar.gz", ".json")]
    assert account.poll()["Built"] == 0
    assert account.lines() == ["1", "2"]


def test_archive_that_was_deleted_and_rebuilt_is_accepted(account: Account) -> None:
    (item,) = account.items = items(1)
    account.finish(item)
    account.objects[item.key] = datetime.fromtimestamp(3, UTC)
    manifest = item.key.replace(".tar.gz", ".json")
    account.manifests[manifest] = {"digest": item.digest, "archive": {"checksum": "AAAA-1"}}
    assert account.poll()["IsComplete"]
    account.manifests[manifest]["archive"]["checksum"] = "BBBB-1"
    assert "the archive was replaced" in account.error()
    account.manifests[manifest] = {"digest": "e" * 64, "archive": {}}
    assert "the archive was replaced" in account.error()


INVALID_ITEMS: list[Record] = [
    {"key": "text/cpu-25.09/bert-dddddddddddd.tar.gz"},
    {"key": "text/cpu-25.09/minilm-eeeeeeeeeeee.tar.gz"},
    {"key": "text/cuda-25.09-sm86/minilm-dddddddddddd.tar.gz"},
    {"key": "text/published/cpu-25.09/minilm-dddddddddddd.tar.gz"},
    {"model": "x/minilm", "key": "text/cpu-25.09/x/minilm-dddddddddddd.tar.gz"},
    {"digest": "d" * 12},
    {"source": "text/cpu-25.09/published/evil.zip"},
    {"source": f"sources/{'e' * 64}.zip"},
    {"source": "dev/0a1b.zip"},
]


@pytest.mark.parametrize("changes", INVALID_ITEMS, ids=str)
def test_unexpected_key_or_source_is_rejected(account: Account, changes: Record) -> None:
    account.items = [make_item(**{"model": "minilm", "digest": "d" * 64, **changes})]
    assert "nothing is built" in account.error()
    assert not account.builds


def test_archived_source_is_accepted(account: Account) -> None:
    account.items = [make_item("minilm", digest="d" * 64, source=f"sources/{'d' * 64}.zip")]
    account.list_key = "models/lists/0a1b.jsonl"  # written by a delivery
    assert not account.poll()["IsComplete"]


@pytest.mark.parametrize(
    "changes",
    [{"List": "models/text/0a1b.jsonl"}, {"Bucket": "others"}, {"Digest": "d" * 64}],
    ids=str,
)
def test_unexpected_list_is_rejected(account: Account, changes: dict[str, str]) -> None:
    account.items = items(1)
    assert "nothing is built" in account.error(**changes)


def test_missing_archives_are_built_in_batches(account: Account) -> None:
    account.items = items(10)
    account.finish(account.items[4])
    answer = account.poll()
    assert answer == {
        **{"IsComplete": False, "Built": 1, "Archives": 10},
        "Builds": ["b:1", "b:2", "b:3"],
    }
    assert account.lines() == ["1-3", "4,6-7", "8-10"]
    assert account.variables(account.builds[0]) == {
        "BUILD_LIST": "assets/prod/0a1b.jsonl",
        "BUILD_DIGEST": hashlib.sha256(account.content()).hexdigest(),
        "BUILD_LINES": "1-3",
        "BUILD_DEADLINE": str(DEADLINE),
        "BUILD_REQUEST": "request-1",
    }


def test_batches_have_a_maximum_size_and_follow_each_other(account: Account) -> None:
    account.items = items(1250)
    account.poll()
    assert account.lines() == ["1-250", "251-500", "501-750", "751-1000"]
    for item in account.items[250:500]:
        account.finish(item)
    account.end("b:2", "SUCCEEDED")
    assert account.poll()["Built"] == 250
    assert account.lines()[4:] == ["1001-1063"]


def test_repeated_event_and_second_request_start_nothing_twice(account: Account) -> None:
    account.items = items(8)
    account.poll()
    account.poll()
    account.poll("request-2")  # such as a delivery after a killed one
    assert account.lines() == ["1-2", "3-4", "5-6", "7-8"]


def test_archives_that_builds_of_another_list_build_are_awaited(account: Account) -> None:
    account.items = items(8)
    account.poll()
    assert account.lines() == ["1-2", "3-4", "5-6", "7-8"]
    account.earlier_lists[account.list_key] = account.content()
    account.list_key = "assets/prod/2c3d.jsonl"
    account.items[0] = make_item("model-0000")
    account.throttled = True
    account.poll("request-2")
    assert len(account.lines()) == 4, "a build of an archive that another one builds"
    account.throttled = False
    assert account.poll("request-2")["Builds"] == ["b:5"]
    assert account.lines()[4:] == ["1"]
    account.end("b:1", "FAILED", FAILED_PHASE)
    account.poll("request-2")
    assert account.lines()[5:] == ["2"]
    account.earlier_lists.clear()  # deleted
    account.poll("request-2")
    assert account.lines()[6:] == ["3-8"]


def test_running_build_is_found_behind_newer_ones(account: Account) -> None:
    """The build of an engine may run for hours, while other lists are built."""
    account.page_size = 2
    account.items = items(1)
    account.poll()
    for number in range(2, 6):
        started = datetime.fromtimestamp(NOW + number, UTC)
        other = {"startTime": started, "environment": {}, "buildStatus": "SUCCEEDED"}
        account.builds.append({"id": f"b:{number}", **other})
    event = {
        **{"RequestType": "Create", "RequestId": "request-2", "Deadline": DEADLINE + 3600},
        "ResourceProperties": account.properties(),
    }
    assert account.index.is_complete(event, None)["Builds"] == ["b:1"]
    assert len(account.tokens) == 1


def test_engines_have_builds_of_their_own(account: Account) -> None:
    engines = [
        make_item(f"engine-{number}", target="cuda-25.09-sm86", engines=True) for number in range(6)
    ]
    account.items = [*engines, *items(4)]
    account.poll()
    assert account.lines() == ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]


@pytest.mark.parametrize(
    ("code", "message", "status"),
    [
        ("AccountLimitExceededException", "Cannot have more than 1 builds in queue", 400),
        ("ThrottlingException", "Rate exceeded", 400),
        ("TooManyRequestsException", "Rate exceeded", 429),
        ("InternalFailure", "", 500),
        ("ServiceUnavailable", "", 503),
    ],
)
def test_throttled_start_is_retried_by_the_next_poll(
    account: Account, code: str, message: str, status: int
) -> None:
    account.items = items(1)
    account.errors = [client_error(code, message, status)]
    assert account.poll() == {"IsComplete": False, "Built": 0, "Archives": 1, "Builds": []}
    assert account.poll()["Builds"] == ["b:1"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("AccountLimitExceededException", "Cannot have more than 0 builds in queue"),
        ("AccessDeniedException", "No."),
    ],
)
def test_permanent_error_of_a_start_is_an_error(account: Account, code: str, message: str) -> None:
    account.items = items(1)
    account.errors = [client_error(code, message)]
    with pytest.raises(ClientError, match=message):
        account.poll()


def test_connection_error_is_retried(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise ReadTimeoutError(endpoint_url="https://codebuild")

    account.items = items(1)
    account.poll()
    monkeypatch.setattr(account, "batch_get_builds", fail)
    assert account.poll() == {"IsComplete": False}


def test_running_build_has_a_grace_period_after_the_deadline(account: Account) -> None:
    account.items = items(2)
    account.finish(account.items[1])
    account.poll()
    account.set_time(DEADLINE + 119)
    assert not account.poll()["IsComplete"]
    account.set_time(DEADLINE + 120)
    assert account.error() == (
        f"After 50 minutes, 1 of 2 archives are built; running: b:1. {UNCHANGED} Run make deliver "
        "to keep waiting: CloudFormation cannot wait longer."
    )


def test_build_is_restarted_once_after_an_image_pull_error(account: Account) -> None:
    account.items = items(1)
    account.poll()
    account.end("b:1", "FAILED", PULL_FAILED)
    assert account.poll()["Builds"] == ["b:2"]
    account.end("b:2", "FAILED", PULL_FAILED)
    assert account.error() == (
        "1 of 1 archives were not built. model-0001: build failed, its image could not be pulled: "
        "Unable to pull customer's container image. CannotPullContainerError: 401. Log: in "
        f"CodeBuild . {UNCHANGED}"
    )


def test_archives_of_a_build_that_died_are_built_once_more(account: Account) -> None:
    account.items = items(100)
    account.poll()
    assert account.lines() == ["1-25", "26-50", "51-75", "76-100"]
    for item in account.items[:10]:
        account.finish(item)
    account.end("b:1", "FAILED", FAILED_PHASE, log="Killed\n")
    assert account.poll()["Builds"] == ["b:2", "b:3", "b:4", "b:5"]
    assert account.lines()[4:] == ["11-25"]
    for item in account.items[25:]:
        account.finish(item)
    for build in ("b:2", "b:3", "b:4"):
        account.end(build, "SUCCEEDED")
    account.end("b:5", "FAILED", FAILED_PHASE, log="Killed\n")
    assert account.error().startswith(
        "15 of 100 archives were not built. 15 others: build failed in phase BUILD: killed."
    )


def test_no_other_build_starts_after_one_without_its_packages(account: Account) -> None:
    account.items = items(1250)
    account.poll()
    for build in ("b:1", "b:2", "b:3"):
        account.end(build, "FAILED", INSTALL_PHASE)
    assert account.poll()["Builds"] == ["b:4"]
    account.end("b:4", "FAILED", INSTALL_PHASE)
    assert account.error().startswith(
        "1,000 of 1,250 archives were not built. 1,000 others: build failed in phase INSTALL: "
        "killed. Log: in CodeBuild"
    )


@pytest.mark.parametrize(
    ("status", "phases", "log", "reason"),
    [
        ("FAULT", [FAILED_PHASE], "", "build fault in phase BUILD: killed"),
        ("TIMED_OUT", [], "", "build timed out"),
        ("FAILED", [FAILED_PHASE], "error: the list has another digest.", "build failed: the list"),
        ("SUCCEEDED", [], "", "build succeeded without a manifest"),
    ],
)
def test_failure_without_an_error_of_the_model_has_that_of_the_build(
    account: Account, status: str, phases: list[Record], log: str, reason: str
) -> None:
    account.items = items(1)
    account.poll()
    account.end("b:1", status, *phases, log=log)
    assert f"archives were not built. model-0001: {reason}" in account.error()
    account.logs.clear()  # the log is optional
    assert "archives were not built. model-0001: build " in account.error()


def test_many_failures_fit_into_cloudformations_response(account: Account) -> None:
    account.items = items(100)
    account.poll()
    for build in range(1, 5):
        errors = [f"error: {item.model}: {'too long ' * 99}" for item in account.items]
        account.end(f"b:{build}", "FAILED", FAILED_PHASE, log="\n".join(errors))
    message = account.error()
    assert "; and 95 more. Log: " in message
    assert len(message) < 2048


def test_build_that_builds_nothing_keeps_no_model(account: Account) -> None:
    account.items = items(1)
    account.poll(OnFailure="keep")
    account.end("b:1", "FAILED", INSTALL_PHASE)
    assert "build failed in phase INSTALL" in account.error(OnFailure="keep")


def test_response_has_some_of_many_failures(account: Account) -> None:
    account.items = items(200)
    account.poll(OnFailure="keep")
    log = "".join(f"error: {item.model}: {'too long ' * 999}\n" for item in account.items)
    for build in account.builds:
        account.end(build["id"], "FAILED", FAILED_PHASE, log=log)
    answer = account.poll(OnFailure="keep")
    assert answer["Failures"][-1] == "and 150 more"
    assert len(json.dumps(answer)) < 100_000
