"""The service sagemaker-runtime: InvokeEndpoint and InvokeEndpointWithResponseStream."""

import re
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import botocore.session

from local_sagemaker.api import error_response, not_emulated, send_response
from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.invocation import ClientDisconnectedError, Invocation, Receive, Send
from local_sagemaker.members import SUPPORTED, is_supported, reject_members
from local_sagemaker.metrics import names
from local_sagemaker.metrics.instances import instance_dimensions
from local_sagemaker.metrics.invocations import invocation_metrics
from local_sagemaker.metrics.metric_buffer import MetricBuffer, MetricDimensions
from local_sagemaker.sagemaker.capture import CapturedInvocation, CaptureWriter, chosen
from local_sagemaker.sagemaker.component import Component
from local_sagemaker.sagemaker.endpoint import Endpoint, not_found
from local_sagemaker.sagemaker.resources import COMPONENT
from local_sagemaker.sagemaker.response_stream import StreamedInvocation

OPERATIONS = {
    "invocations": "InvokeEndpoint",
    "async-invocations": "InvokeEndpointAsync",
    "invocations-response-stream": "InvokeEndpointWithResponseStream",
}
"""Last path segment -> operation of sagemaker-runtime; source: botocore's model."""

_INPUT: Any = (
    botocore.session.get_session()
    .get_service_model("sagemaker-runtime")
    .operation_model("InvokeEndpoint")
    .input_shape
)
_UNSUPPORTED = {
    shape.serialization["name"].lower().encode(): name
    for name, shape in _INPUT.members.items()
    if not is_supported(_INPUT, name, SUPPORTED["sagemaker-runtime"])
}
"""Header -> unsupported member of InvokeEndpoint."""

PATH = re.compile(f"/endpoints/[^/]+/({'|'.join(OPERATIONS)})")


class Invocations:
    """The service sagemaker-runtime, as an ASGI application for paths that match `PATH`.

    `answered` is called after each invocation of a variant with endpoint, variant, seconds, and
    whether it failed.
    """

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        recorder: CaptureWriter,
        buffer: MetricBuffer,
        answered: Callable[[str, str, float, bool], None] = lambda *_: None,
        *,
        components: Mapping[str, Component],
    ) -> None:
        self._endpoints, self._recorder = endpoints, recorder
        self._buffer, self._answered = buffer, answered
        self._components = components

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        _, _, name, operation = scope["path"].split("/")
        endpoint = self._endpoints.get(name)
        config = endpoint.plan.config.get("DataCaptureConfig") if endpoint else None
        kind = CapturedInvocation if config and chosen(config) else Invocation
        if operation == "invocations-response-stream":
            kind = StreamedInvocation
        headers = dict(scope["headers"])
        invocation = kind(headers, receive, send)
        invocation.response_headers.append((b"x-amzn-requestid", str(uuid.uuid4()).encode()))
        try:
            if operation == "async-invocations":
                raise not_emulated(OPERATIONS[operation])
            if unsupported := headers.keys() & _UNSUPPORTED:
                reject_members(
                    "sagemaker-runtime", [_UNSUPPORTED[header] for header in unsupported]
                )
            await invocation.receive()
            variant = await self._answer(name, endpoint, invocation)
            if config and isinstance(invocation, CapturedInvocation):
                self._recorder.keep(config, name, variant, invocation)
        except ApiError as error:
            if invocation.response_started:
                await invocation.abort_response(error)
            else:
                rest = invocation.discard_rest if invocation.unread else None
                await send_response(send, error_response(error), before_end=rest)
        except ClientDisconnectedError:
            pass

    async def _answer(self, name: str, endpoint: Endpoint | None, invocation: Invocation) -> str:
        """Route and run an invocation, record its metrics, and return the variant."""
        started, failed = time.monotonic(), None
        if endpoint is None:
            raise not_found(name)
        component = self._component(endpoint, invocation.inference_component)
        route = (component or endpoint).route(invocation.target_model, invocation.target_variant)
        if route is None:
            if component:
                dimensions = MetricDimensions(name, component.variant, component=component.key)
                self._buffer.add(names.NO_CAPACITY_FAILURES, dimensions, 1)
                self._answered(name, component.variant, time.monotonic() - started, True)
            raise (component or endpoint).not_serving_error()
        fleet, instance = route
        variant = component.variant if component else instance.variant
        try:
            header = (b"x-amzn-invoked-production-variant", variant.encode())
            invocation.response_headers.append(header)
            await invocation.invoke_instance(instance)
        except ApiError as error:
            failed = error
            raise
        finally:
            fleet.release(instance)
            count = component.copies if component else fleet.counts.get(variant, 1)
            seconds = time.monotonic() - started
            self._answered(name, variant, seconds, failed is not None)
            dimensions = MetricDimensions(
                name, variant, component=component.key if component else None
            )
            whole, *of_type = instance_dimensions(instance, dimensions)
            family = names.COPY_METRICS if component else names.INSTANCE_METRICS
            values = partial(
                invocation_metrics, invocation, family.calls, seconds=seconds, error=failed
            )
            every = [whole] if component else [whole, whole._replace(config=fleet.config)]
            self._buffer.add_all(values(instances=max(1, count)), every)
            if of_type:
                serving = fleet.serving().get(variant, [])
                same = max(1, sum(other.pool == instance.pool for other in serving))
                self._buffer.add_all(values(instances=same), of_type)
        return variant

    def _component(self, endpoint: Endpoint, name: str | None) -> Component | None:
        """Return the requested component; None if the endpoint has models. Raise `ApiError`.

        Source of the messages: BerriAI/litellm; of the second also langchain-ai/langchain#14344.
        """
        if not endpoint.hosts_components:
            if name is None:
                return None
            raise ApiError(
                "ValidationError",
                "Inference Component Name header is not allowed for endpoints to which you dont "
                "plan to deploy inference components. Please remove the Inference Component Name "
                "header and try again.",
            )
        if name is None:
            raise ApiError(
                "ValidationError",
                "Inference Component Name header is required for endpoints to which you plan to "
                "deploy inference components. Please include Inference Component Name header or "
                "consider using SageMaker models.",
            )
        component = self._components.get(name)
        if component is None or component.name != endpoint.name:  # no source
            message = f'Could not find inference component "{COMPONENT.arn(name)}".'
            raise ApiError("ValidationError", message)
        return component
