"""Recording of callers, and of the IAM permissions that they use."""

import json
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from ministack.core import iam_actions

from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.front.ministack import request_body
from local_sagemaker.hosting.invocation import Receive
from local_sagemaker.validation.protocols import SIGNING_NAME

CALLER = re.compile(r"arn:[\w:/+=,.@-]+|[a-z-]{1,64}")
"""A role's ARN, or a name set by a test. Session tokens of ministack's STS do not match."""
INVOKED_ENDPOINT = re.compile(r"/endpoints/([^/]+)/")
SAGEMAKER_RESOURCES = {
    "InferenceComponentName": "inference-component",
    "EndpointName": "endpoint",
    "EndpointConfigName": "endpoint-config",
    "ModelName": "model",
}
"""Request member with a name -> resource type in the ARN."""

REST_ACTIONS = {"GET /2016-08-19/account-settings": "lambda:GetAccountSettings"}
"""Actions of requests that ministack does not name (Lambda API reference)."""
ACTION_PREFIXES = {"monitoring": "cloudwatch"}
"""Signing name -> prefix of IAM actions (service authorization reference)."""


class RecordedCall(NamedTuple):
    """A caller with an IAM action and a resource ARN or `*`."""

    caller: str
    action: str
    resource: str


class Calls:
    """A file with each distinct call of an identified caller as a JSON line.

    The session token identifies the caller, without verification: Lambda functions and builds use
    the ARN of their role as the token, and a client can set `AWS_SESSION_TOKEN` to a name. Requests
    without a token are not recorded.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._recorded: set[RecordedCall] = set()
        self._lock = threading.Lock()

    async def record(self, scope: Any, receive: Receive) -> Receive:
        """Record a request with a session token; return a `receive` for reading the body again.

        Raise `ClientDisconnectedError`.
        """
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        caller = headers.get("x-amz-security-token", "")
        if not CALLER.fullmatch(caller):
            return receive
        body = b""
        if scope["path"] == "/" and scope["method"] == "POST":
            body = b"".join([part async for part in request_body(receive)])
            receive = replay(body, receive)
        self._write(
            caller,
            _permissions(
                scope["method"],
                scope["path"],
                scope["query_string"].decode("latin-1"),
                headers,
                body,
            ),
        )
        return receive

    def record_client(self, client: Any, caller: str) -> None:
        """Record the calls of a boto3 client that does not use this server."""

        def record_request(request: Any, **_: Any) -> None:
            url = urlsplit(request.url)
            headers = {name.lower(): _as_text(value) for name, value in request.headers.items()}
            body = request.body if isinstance(request.body, bytes) else b""
            self._write(caller, _permissions(request.method, url.path, url.query, headers, body))

        client.meta.events.register("before-send", record_request)

    def _write(self, caller: str, permissions: Iterable[tuple[str, str]]) -> None:
        with self._lock:
            for call in (RecordedCall(caller, *permission) for permission in permissions):
                if call not in self._recorded:
                    self._recorded.add(call)
                    with self._file.open("a") as file:
                        file.write(json.dumps(call._asdict()) + "\n")


def _permissions(
    method: str, path: str, query: str, headers: dict[str, str], body: bytes
) -> list[tuple[str, str]]:
    """Return the IAM actions that a request needs, with their resources."""
    signature = SIGNING_NAME.search(headers.get("authorization", ""))
    service = signature[1] if signature else ""
    if service == "sagemaker" and (invocation := INVOKED_ENDPOINT.match(path)):
        return [("sagemaker:InvokeEndpoint", _arn("sagemaker", f"endpoint/{invocation[1]}"))]
    parameters = {**_parameters(body), **_parameters(query.encode())}
    request = (method, unquote(path), headers, body, parameters)
    resource = iam_actions.extract_resource_arn(service, *request, REGION, ACCOUNT)
    if "x-amz-target" in headers:
        operation = headers["x-amz-target"].rpartition(".")[2]
        action = f"{ACTION_PREFIXES.get(service, service)}:{operation}"
        items = iam_actions.dynamodb_transaction_checks(action, body, REGION, ACCOUNT)
        return items or [(action, _resource_arn(service, _json(body)) or resource)]
    action = REST_ACTIONS.get(f"{method} {path.rstrip('/')}", "")
    action = action or iam_actions.extract_iam_action(service, *request)
    additional = iam_actions.s3_additional_checks(*request) if service == "s3" else []
    return [(action or f"{service}:{method}", resource), *additional]


def _json(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body)
    except ValueError:
        return {}
    return request if isinstance(request, dict) else {}


def _parameters(text: bytes) -> dict[str, Any]:
    return dict(parse_qs(text.decode("latin-1"), keep_blank_values=True))


def _as_text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


def _resource_arn(service: str, request: dict[str, Any]) -> str | None:
    """Return the ARN of a resource that ministack does not read from a JSON request.

    Source: service authorization reference.
    """
    match service, request:
        case "sagemaker", _:
            for field, kind in SAGEMAKER_RESOURCES.items():
                if field in request:
                    return _arn(service, f"{kind}/{request[field]}")
            return str(request.get("ResourceArn", "*"))
        case "codebuild", {"names": [project, *_]}:
            return _arn(service, f"project/{project.rpartition('/')[2]}")
        case "codebuild", {"ids": [build, *_]} | {"id": build}:
            return _arn(service, f"project/{build.partition(':')[0]}")
        case "ecr", {"repositoryName": name, "registryId": registry}:
            return f"arn:aws:ecr:{REGION}:{registry}:repository/{name}"
        case "ssm", {"Path": path}:
            return _arn(service, f"parameter{path}")
        case "logs", {"logGroupName": group}:
            stream = request.get("logStreamName", "")
            return _arn(service, f"log-group:{group}:log-stream:{stream}")
        case _, {"ResourceArn": arn} | {"resourceArn": arn}:
            return str(arn)
    return None


def _arn(service: str, resource: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first returns a body, then the original messages."""
    messages = [{"type": "http.request", "body": body}]

    async def receive_again() -> Any:
        return messages.pop() if messages else await receive()

    return receive_again
