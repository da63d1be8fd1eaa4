"""Fake CodeBuild with one GPU project; tests end its builds."""

import uuid
from collections.abc import Callable
from typing import Any, cast

from platform_facts.rules.bucket_keys import ENGINE_JOBS
from tests.unit.model_build.fakes import FakeS3

PROJECT: dict[str, Any] = {
    "name": "gpu",
    "serviceRole": "arn:aws:iam::111122223333:role/gpu",
    "encryptionKey": "arn:aws:kms:us-east-1:111122223333:key/1",
    "cache": {"type": "NO_CACHE"},
    "source": {"type": "S3", "location": "assets/step.zip", "buildspec": "version: 0.2"},
    "environment": {"type": "LINUX_GPU_CONTAINER", "image": "nvcr.io/nvidia/tensorrt:26.05-py3",
     "computeType": "BUILD_GENERAL1_SMALL", "privilegedMode": False,
     "imagePullCredentialsType": "SERVICE_ROLE"},
}  # fmt: skip
"""The project as BatchGetProjects returns it."""

PULL_FAILED = {
    "phaseType": "PROVISIONING",
    "phaseStatus": "CLIENT_ERROR",
    "contexts": [
        {
            "statusCode": "BUILD_CONTAINER_UNABLE_TO_PULL_IMAGE",
            "message": "Unable to pull customer's container image. CannotPullContainerError: 401",
        }
    ],
}
"""Status code and message as in aws/aws-cdk#10460, which does not show the phase status."""


class FakeCodeBuild:
    """CodeBuild and CloudWatch Logs client. A build is in progress until `end` is called.

    `builds` maps build IDs to builds, `started` has the requests of StartBuild, `stopped` the IDs
    of stopped builds, `log` the lines of every build.
    """

    def __init__(self, s3: FakeS3) -> None:
        self.builds: dict[str, dict[str, Any]] = {}
        self.started: list[dict[str, Any]] = []
        self.stopped: list[str] = []
        self.log: list[str] = []
        self._s3 = s3
        self._tokens: dict[str, str] = {}

    @property
    def client(self) -> Any:
        return cast("Any", self)

    def start_build(self, **request: Any) -> dict[str, Any]:
        token = request["idempotencyToken"]
        assert len(token) <= 64
        if token not in self._tokens:
            build = f"gpu:{uuid.uuid4()}"
            self._tokens[token] = build
            self.started.append(request)
            self.builds[build] = {
                "id": build,
                "buildStatus": "IN_PROGRESS",
                "currentPhase": "QUEUED",
                **{name: PROJECT[name] for name in ("cache", "encryptionKey", "serviceRole")},
                "source": {**PROJECT["source"], "insecureSsl": False},
                "environment": {
                    **PROJECT["environment"],
                    "environmentVariables": [],
                    "image": request["imageOverride"],
                },
                "logs": {"groupName": "group", "streamName": build, "deepLink": "https://log"},
            }
        return {"build": self.builds[self._tokens[token]]}

    def forget_tokens(self) -> None:
        """Expire the idempotency tokens, as CodeBuild does after five minutes."""
        self._tokens.clear()

    def batch_get_builds(self, *, ids: list[str]) -> dict[str, Any]:
        return {"builds": [self.builds[build] for build in ids if build in self.builds]}

    def batch_get_projects(self, *, names: list[str]) -> dict[str, Any]:
        assert names == ["gpu"]
        return {"projects": [PROJECT]}

    def stop_build(self, *, id: str) -> dict[str, Any]:  # noqa: A002 - CodeBuild's name
        self.stopped.append(id)
        return {}

    def get_log_events(self, **request: Any) -> dict[str, Any]:
        assert request["logGroupName"] == "group"
        assert request["logStreamName"] in self.builds
        return {"events": [{"message": line} for line in self.log]}

    def end(self, build: str, status: str = "SUCCEEDED", **fields: Any) -> None:
        """End a build with a status and more fields of BatchGetBuilds."""
        self.builds[build].update(buildStatus=status, currentPhase="COMPLETED", **fields)

    def upload(self, build: str, digest: str, files: dict[str, bytes]) -> None:
        """Upload a build's artifacts."""
        for name, content in files.items():
            key = f"{ENGINE_JOBS}{digest}/raw/{build.partition(':')[2]}/{name}"
            self._s3.objects[key] = {"Body": content}


def pause_steps(*steps: Callable[[], None]) -> Callable[[float], None]:
    """Return a replacement of `time.sleep`: each call runs the next of `steps`."""
    remaining = iter(steps)

    def pause(_: float) -> None:
        next(remaining)()

    return pause
