"""Routing of requests to the services of this package, or to ministack."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from local_sagemaker.api import JsonService, send_response
from local_sagemaker.front.calls import Calls
from local_sagemaker.front.ministack import Ministack, request_body
from local_sagemaker.hosting.invocation import ClientDisconnectedError, Receive, Send
from local_sagemaker.sagemaker import invocations
from local_sagemaker.sagemaker.invocations import Invocations


class Application:
    """The ASGI application of the local SageMaker's URL."""

    def __init__(
        self,
        services: Iterable[JsonService],
        runtime: Invocations,
        ministack: Ministack,
        calls: Calls,
    ) -> None:
        self._services = {service.target_prefix: service for service in services}
        self._runtime, self._ministack, self._calls = runtime, ministack, calls

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if any(name == b"x-amz-security-token" for name, _ in scope["headers"]):
            receive = await self._calls.record(scope, receive)
        if scope["method"] == "POST":
            if invocations.PATH.fullmatch(scope["path"]):
                return await self._runtime(scope, receive, send)
            prefix, _, operation = _target_header(scope).rpartition(".")
            service = self._services.get(prefix)
            if service and service.handles(operation):
                return await _run_service(service, operation, receive, send)
        return await self._ministack(scope, receive, send)


def _target_header(scope: Any) -> str:
    target: bytes = dict(scope["headers"]).get(b"x-amz-target", b"")
    return target.decode("latin-1")


async def _run_service(service: JsonService, operation: str, receive: Receive, send: Send) -> None:
    body = bytearray()
    with suppress(ClientDisconnectedError):
        async for part in request_body(receive):
            body += part
        await send_response(send, await asyncio.to_thread(service.answer, operation, bytes(body)))
