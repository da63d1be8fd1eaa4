"""InvokeEndpoint, streamed between a client and a container."""

import re
import time
import uuid
from collections.abc import Callable
from typing import Any

import botocore.session

from local_sagemaker.api import error_answer, not_emulated, send_answer
from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.invocation import ClientGoneError, Invocation, Receive, Send
from local_sagemaker.members import SUPPORTED, refuse
from local_sagemaker.metrics.collected import Collected, Place
from local_sagemaker.metrics.invocations import measured
from local_sagemaker.sagemaker.capture import Captured, Recorder, chosen
from local_sagemaker.sagemaker.hosting_api import Hosting
from local_sagemaker.sagemaker.response_stream import StreamedInvocation

OPERATIONS = {
    "invocations": "InvokeEndpoint",
    "async-invocations": "InvokeEndpointAsync",
    "invocations-response-stream": "InvokeEndpointWithResponseStream",
}
"""The operations of `sagemaker-runtime` by how their paths end; source: botocore's model."""

_INPUT: Any = (
    botocore.session.get_session()
    .get_service_model("sagemaker-runtime")
    .operation_model("InvokeEndpoint")
    .input_shape
)
_UNSUPPORTED = {
    shape.serialization["name"].lower().encode(): name
    for name, shape in _INPUT.members.items()
    if name not in SUPPORTED["sagemaker-runtime"][_INPUT.name].split()
}
"""Headers of InvokeEndpoint's other members -> the members."""

PATH = re.compile(f"/endpoints/[^/]+/({'|'.join(OPERATIONS)})")


class Invocations:
    """Answers `sagemaker-runtime`, as an ASGI application for paths that match `PATH`.

    `answered` is told of each invocation that a variant had: endpoint, variant, seconds, and
    whether it failed.
    """

    def __init__(
        self,
        hosting: Hosting,
        recorder: Recorder,
        collected: Collected,
        answered: Callable[[str, str, float, bool], None] = lambda *_: None,
    ) -> None:
        self._hosting, self._recorder = hosting, recorder
        self._collected, self._answered = collected, answered

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one invocation, or say why not."""
        _, _, endpoint, operation = scope["path"].split("/")
        config = self._hosting.capture(endpoint)
        kind = Captured if config and chosen(config) else Invocation
        if operation == "invocations-response-stream":
            kind = StreamedInvocation
        headers = dict(scope["headers"])
        invocation = kind(headers, receive, send)
        invocation.answer_headers.append((b"x-amzn-requestid", str(uuid.uuid4()).encode()))
        try:
            if operation == "async-invocations":
                raise not_emulated(OPERATIONS[operation])
            refuse("sagemaker-runtime", [_UNSUPPORTED[it] for it in headers if it in _UNSUPPORTED])
            await invocation.receive()
            variant = await self._answer(endpoint, invocation)
            if config and isinstance(invocation, Captured):
                self._recorder.keep(config, endpoint, variant, invocation)
        except ApiError as error:
            if invocation.answering:
                await invocation.break_off(error)
            else:
                rest = invocation.discard_rest if invocation.unread else None
                await send_answer(send, error_answer(error), before_its_end=rest)
        except ClientGoneError:
            pass

    async def _answer(self, endpoint: str, invocation: Invocation) -> str:
        """Have an invocation answered, and return by which variant."""
        begun, failed = time.monotonic(), None
        fleet, instance = self._hosting.route(
            endpoint,
            target_model=invocation.target_model,
            target_variant=invocation.target_variant,
        )
        try:
            header = (b"x-amzn-invoked-production-variant", instance.variant.encode())
            invocation.answer_headers.append(header)
            await instance.invoke(invocation)
        except ApiError as error:
            failed = error
            raise
        finally:
            fleet.release(instance)
            instances = max(1, fleet.counts.get(instance.variant, 1))
            seconds = time.monotonic() - begun
            self._answered(endpoint, instance.variant, seconds, failed is not None)
            self._collected.add_all(
                measured(invocation, instances=instances, seconds=seconds, error=failed),
                [Place(endpoint, instance.variant, it) for it in (None, fleet.config)],
            )
        return instance.variant
