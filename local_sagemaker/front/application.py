"""Routing of requests to the services of this package, or to ministack."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from local_sagemaker.api import JsonService, refusal, send_response
from local_sagemaker.errors import ApiError
from local_sagemaker.front.calls import Calls, replay
from local_sagemaker.front.compression import decompress, with_plain_body
from local_sagemaker.front.ministack import Ministack, request_body
from local_sagemaker.hosting.invocation import ClientDisconnectedError, Receive, Send
from local_sagemaker.sagemaker import invocations
from local_sagemaker.sagemaker.invocations import Invocations
from local_sagemaker.validation.protocols import error_response_to, has_operation


class Application:
    """The ASGI application of the local SageMaker's URL.

    `ask` sends a request to ministack. `on_change` is called after ministack's answers to requests
    that may change something.
    """

    def __init__(
        self,
        services: Iterable[JsonService],
        runtime: Invocations,
        ministack: Ministack,
        calls: Calls,
        ask: Callable[[str, dict[str, Any]], Any] = lambda *_: None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._services = {service.target_prefix: service for service in services}
        self._runtime, self._ministack, self._calls = runtime, ministack, calls
        self._ask, self._on_change = ask, on_change

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        method, path = scope["method"], scope["path"]
        prefix, _, operation = headers.get("x-amz-target", "").rpartition(".")
        service = self._services.get(prefix) if method == "POST" else None
        is_operation = bool(service) or has_operation(method, path, headers)
        try:
            if is_operation and headers.get("content-encoding") == "gzip":
                compressed = b"".join([part async for part in request_body(receive)])
                body = await asyncio.to_thread(decompress, compressed)
                scope, receive = with_plain_body(scope, len(body)), replay(body, receive)
            if "x-amz-security-token" in headers:
                receive = await self._calls.record(scope, receive)
            if method == "POST" and invocations.PATH.fullmatch(path):
                return await self._runtime(scope, receive, send)
            if is_operation:
                body = b"".join([part async for part in request_body(receive)])
                query = scope["query_string"].decode("latin-1")
                response = await asyncio.to_thread(
                    lambda: (
                        (service.answer(operation, body) if service else None)
                        or refusal(f"{path}?{query}", headers, body, method=method, ask=self._ask)
                    )
                )
                if response is not None:
                    return await send_response(send, response)
                receive = replay(body, receive)
        except ClientDisconnectedError:
            return None
        except ApiError as error:
            return await send_response(send, error_response_to(error, path, headers))
        await self._ministack(scope, receive, send)
        if method not in ("GET", "HEAD"):
            self._on_change()
        return None
