"""An in-process account of the local SageMaker with boto3 clients.

Instances and the time of updates and alarms are fake; everything else is the code that `up` runs.
"""

import asyncio
import importlib
import json
import threading
import time
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import boto3
import jmespath
from botocore import xform_name
from botocore.awsrequest import AWSResponse, HeadersDict
from botocore.config import Config
from botocore.exceptions import ClientError
from ministack.app import app
from ministack.services import cloudwatch, cloudwatch_logs
from urllib3 import HTTPResponse

from local_sagemaker.api import JsonService, refusal
from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.cloudwatch import alarm_records, data, log_events
from local_sagemaker.cloudwatch.evaluator import Evaluator
from local_sagemaker.codebuild.builds import CodeBuild
from local_sagemaker.ecr import registries
from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.quotas import AccountQuotas
from local_sagemaker.sagemaker.alarms import alarm_states
from local_sagemaker.sagemaker.component_operations import HostingOperations
from local_sagemaker.tests.sagemaker.conftest import FakeClock, Fleets
from local_sagemaker.tests.support.waiting import eventually
from local_sagemaker.validation.documented import correct_texts, error_texts
from local_sagemaker.validation.protocols import signed_service

Response = dict[str, Any]
ENDPOINT = "http://127.0.0.1:4566"
UNCHECKED = Config(parameter_validation=False, retries={"total_max_attempts": 1})


class Account:
    """An empty account. Operations of the service `local` change its conditions."""

    def __init__(self, folder: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.RLock()  # one request at a time runs on the loop
        self._services: dict[str, JsonService] = {}
        self._clients: dict[str, Any] = {}
        self._now = time.time() // 60 * 60
        self._reset_ministack()
        self.fleets, self.clock = Fleets(), FakeClock()
        self._hosting = HostingOperations(
            SimpleNamespace(s3=self.client("s3"), report_event=lambda _: None),  # type: ignore[arg-type]
            fleet=self.fleets.make,
            clock=lambda: self.clock,
            alarms=lambda names: alarm_states(self.client("cloudwatch"), names),
            is_assumable=lambda _: True,
            quota_value=AccountQuotas().value,
            scalable_variants=lambda endpoint: scaling.scalable_variants(endpoint),
            deregister=lambda endpoint: scaling.deregister_endpoint(endpoint),
        )
        scaling: AutoScaling = AutoScaling(self._hosting, self.client("cloudwatch"), speed=1)
        self._codebuild = CodeBuild(
            clients=lambda _: (self.client("s3"), self.client("logs")),
            folder=folder,
            environment={},
        )
        for service in (
            JsonService("sagemaker", self._hosting, self._hosting.tags),
            scaling.service,
            self._codebuild.service,
            AccountQuotas().service,
            registries(),
        ):
            self._services[service.target_prefix] = service

    def _reset_ministack(self) -> None:
        self._loop.run_until_complete(_asgi("POST", f"{ENDPOINT}/_ministack/reset", {}, b""))
        importlib.reload(cloudwatch)
        alarm_records.patch(cloudwatch)
        data.patch(cloudwatch)
        log_events.patch(cloudwatch_logs)
        self._evaluator = Evaluator(cloudwatch, speed=1)

    def call(self, operation: str, request: dict[str, Any], until: str = "") -> Response:
        """Return the response of an operation such as `sagemaker:CreateModel`, or Code and Message.

        With `until`, the operation is repeated until its response meets the condition.
        """
        service, _, name = operation.partition(":")
        if service == "local":
            getattr(self, xform_name(name))(**request)
            return {}
        method = getattr(self.client(service), xform_name(name))

        def respond() -> Response:
            try:
                content: Response = method(**request)
            except ClientError as error:
                content = {**error.response, **error.response["Error"]}
            self._run_pending_tasks()
            metadata = content.pop("ResponseMetadata")
            return {"status": metadata["HTTPStatusCode"], **_decode(content)}

        if not until:
            return respond()
        return eventually(lambda: _if_true(respond(), until))

    def status(self, operation: str, body: str) -> int:
        """Return the status of the answer to a body, of a service of this package."""
        service, _, name = operation.partition(":")
        prefix = self.client(service).meta.service_model.metadata["targetPrefix"]
        response = self._services[prefix].answer(name, body.encode())
        return response[0] if response else 200

    def client(self, service: str) -> Any:
        """Return boto3's client of a service."""
        if service not in self._clients:
            make: Any = boto3.client
            client = make(
                service,
                region_name="us-east-1",
                aws_access_key_id="test",
                aws_secret_access_key="test",
                endpoint_url=ENDPOINT,
                config=UNCHECKED,
            )
            client.meta.events.register("before-send", self._send)
            self._clients[service] = client
        return self._clients[service]

    def close(self) -> None:
        """Stop all transitions."""
        self.fleets.ready.set()
        self._hosting.stop()
        self._codebuild.stop()
        self._loop.close()

    # Operations of `local`

    def hold_instances(self) -> None:
        """Let starting instances wait before they are ready."""
        self.fleets.ready.clear()

    def release_instances(self) -> None:
        """Let waiting instances become ready."""
        self.fleets.ready.set()

    def fail_instances(self, error: str) -> None:
        """Let instances fail to start, or succeed again if `error` is empty."""
        self.fleets.failure = LocalSageMakerError(error) if error else None

    def put_object(self, bucket: str, key: str) -> None:
        """Put an object into a new bucket."""
        self.client("s3").create_bucket(Bucket=bucket)
        self.client("s3").put_object(Bucket=bucket, Key=key, Body=b"")

    def put_data(self, name: str, values: list[float], **members: Any) -> None:
        """Put values of a metric at the time of the last alarm evaluation."""
        members = {member.capitalize(): value for member, value in members.items()}
        timestamp = datetime.fromtimestamp(self._now, UTC)
        data = [
            {"MetricName": name, "Timestamp": timestamp, "Value": value, **members}
            for value in values
        ]
        self.client("cloudwatch").put_metric_data(Namespace="n", MetricData=data)

    def evaluate_alarms(self, later: float = 0) -> None:
        """Advance the time by `later` seconds and evaluate the alarms."""
        self._now += later
        self._evaluator.evaluate(self._now)

    # Requests

    def _send(self, request: Any, **_: Any) -> AWSResponse:
        body = request.body or b""
        body = body.encode() if isinstance(body, str) else body
        if not isinstance(body, bytes):
            body = body.read()
        headers = {
            name: value.decode("latin-1") if isinstance(value, bytes) else str(value)
            for name, value in request.headers.items()
        }
        target: str = headers.get("X-Amz-Target", "")
        prefix, operation = target.rpartition(".")[::2]
        service = self._services.get(prefix)
        response = service.answer(operation, body) if service else None
        lower = {name.lower(): value for name, value in headers.items()}
        url = request.url.removeprefix(ENDPOINT)
        response = response or refusal(url, lower, body, method=request.method, ask=self._ask)
        if response:
            status, response_headers, content = response
        else:
            with self._lock:
                status, response_headers, content = self._loop.run_until_complete(
                    _asgi(request.method, request.url, headers, body)
                )
            name = signed_service(lower.get("authorization", ""))
            if status >= 400 and name in error_texts():
                content = correct_texts(name, content)
        headers_dict: Any = HeadersDict(response_headers)
        raw = HTTPResponse(BytesIO(content), preload_content=False)
        return AWSResponse(request.url, status, headers_dict, raw)

    def _ask(self, operation: str, request: dict[str, Any]) -> Any:
        service, _, name = operation.partition(":")
        return getattr(self.client(service), xform_name(name))(**request)

    def _run_pending_tasks(self) -> None:
        """Run the pending tasks of ministack, such as stack operations."""
        with self._lock:
            self._loop.run_until_complete(asyncio.sleep(0))


async def _asgi(
    method: str, url: str, headers: dict[str, str], body: bytes
) -> tuple[int, dict[str, str], bytes]:
    parts = urlsplit(url)
    sent_messages: list[dict[str, Any]] = []
    received_messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": body, "more_body": False}
    ]
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def receive() -> dict[str, Any]:
        return received_messages.pop() if received_messages else await asyncio.Future()

    async def send(message: dict[str, Any]) -> None:
        sent_messages.append(message)

    scope = {
        **{"type": "http", "http_version": "1.1", "scheme": "http", "method": method},
        **{"path": parts.path or "/", "raw_path": (parts.path or "/").encode()},
        **{"query_string": parts.query.encode(), "server": ("127.0.0.1", 4566)},
        "headers": [*encoded, (b"host", parts.netloc.encode())],
        "client": ("127.0.0.1", 1),
    }
    await app(scope, receive, send)
    start, *bodies = sent_messages
    response_headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], response_headers, b"".join(body.get("body", b"") for body in bodies)


def _decode(value: Any) -> Any:
    """Return a value with decoded JSON strings, such as StateReasonData of an alarm."""
    if isinstance(value, dict):
        return {name: _decode(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_decode(inner) for inner in value]
    if isinstance(value, str) and value.startswith("{"):
        return json.loads(value)
    return value


def _if_true(response: Response, condition: str) -> Response:
    """Return a response that meets a JMESPath condition, or {}."""
    return response if jmespath.search(condition, response) else {}
