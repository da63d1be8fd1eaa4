"""The service sagemaker-runtime: InvokeEndpoint and InvokeEndpointWithResponseStream."""

import re
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import botocore.session

from local_sagemaker.api import not_emulated, send_response
from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.invocation import ClientDisconnectedError, Invocation, Receive, Send
from local_sagemaker.metrics import names
from local_sagemaker.metrics.instances import instance_dimensions
from local_sagemaker.metrics.invocations import invocation_metrics
from local_sagemaker.metrics.metric_buffer import MetricBuffer, MetricDimensions
from local_sagemaker.sagemaker.capture import CapturedInvocation, CaptureWriter, is_sampled
from local_sagemaker.sagemaker.component import Component
from local_sagemaker.sagemaker.endpoint import Endpoint, endpoint_not_found_error
from local_sagemaker.sagemaker.resources import COMPONENT
from local_sagemaker.sagemaker.response_stream import StreamedInvocation
from local_sagemaker.validation.members import SUPPORTED, is_supported, reject_members
from local_sagemaker.validation.protocols import error_response

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


def _log_link(endpoint: str) -> str:
    """Return the end of a ModelError's message. Source: aws/amazon-sagemaker-examples#1809.

    The words for inference components are not known.
    """
    return (
        f". See https://{REGION}.console.aws.amazon.com/cloudwatch/home?region={REGION}"
        f"#logEventViewer:group={names.INSTANCES}/{endpoint} in account {ACCOUNT} for more "
        "information."
    )


def _log_group(endpoint: str) -> str:
    """Return the value of LogStreamArn: the ARN of a log group (source: as in `model_error`)."""
    return f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{names.INSTANCES}/{endpoint}"


PATH = re.compile(f"/endpoints/[^/]+/({'|'.join(OPERATIONS)})")


class Invocations:
    """The service sagemaker-runtime, as an ASGI application for paths that match `PATH`.

    `on_invocation` is called after each invocation of a variant, with the names of endpoint and
    variant, the duration in seconds, and whether the invocation failed.
    """

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        capture_writer: CaptureWriter,
        metrics: MetricBuffer,
        on_invocation: Callable[[str, str, float, bool], None] = lambda *_: None,
        *,
        components: Mapping[str, Component],
    ) -> None:
        self._endpoints, self._capture_writer = endpoints, capture_writer
        self._metrics, self._on_invocation = metrics, on_invocation
        self._components = components

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        _, _, name, operation = scope["path"].split("/")
        endpoint = self._endpoints.get(name)
        config = endpoint.plan.config.get("DataCaptureConfig") if endpoint else None
        invocation_type = Invocation
        if config and is_sampled(config):
            invocation_type = CapturedInvocation
        if operation == "invocations-response-stream":
            invocation_type = StreamedInvocation
        headers = dict(scope["headers"])
        invocation = invocation_type(headers, receive, send)
        invocation.response_headers.append((b"x-amzn-requestid", str(uuid.uuid4()).encode()))
        try:
            if operation == "async-invocations":
                raise not_emulated(OPERATIONS[operation])
            if unsupported := headers.keys() & _UNSUPPORTED:
                reject_members(
                    "sagemaker-runtime", [_UNSUPPORTED[header] for header in unsupported]
                )
            await invocation.receive()
            variant = await self._invoke(name, endpoint, invocation)
            if config and isinstance(invocation, CapturedInvocation):
                self._capture_writer.write(config, name, variant, invocation)
        except ApiError as error:
            if invocation.response_started:
                await invocation.abort_response(error)
            else:
                discard = invocation.discard_rest if invocation.unread else None
                await send_response(send, error_response(error), before_end=discard)
        except ClientDisconnectedError:
            pass

    async def _invoke(self, name: str, endpoint: Endpoint | None, invocation: Invocation) -> str:
        """Run an invocation on an instance, record its metrics, and return the variant's name."""
        start, failure = time.monotonic(), None
        if endpoint is None:
            raise endpoint_not_found_error(name)
        component = self._find_component(endpoint, invocation.inference_component)
        component_name = component.resource_name if component else None
        target = component or endpoint
        route = target.route(invocation.target_model, invocation.target_variant)
        if route is None:
            if component:
                dimensions = MetricDimensions(name, component.variant, component=component_name)
                self._metrics.add(names.NO_CAPACITY_FAILURES, dimensions, 1)
                self._on_invocation(name, component.variant, time.monotonic() - start, True)
            raise target.no_instance_error()
        fleet, instance = route
        variant = component.variant if component else instance.variant
        try:
            header = (b"x-amzn-invoked-production-variant", variant.encode())
            invocation.response_headers.append(header)
            await instance.invoke(invocation)
        except ApiError as error:
            failure = error
            if error.code != "ModelError" or component or invocation.response_started:
                raise
            # A copy, because all calls that wait for a load get the same error.
            message = error.message + _log_link(name)
            fields = {**error.fields, "LogStreamArn": _log_group(name)}
            raise ApiError(error.code, message, status=error.status, **fields) from None
        finally:
            count = component.copy_count if component else fleet.counts.get(variant, 1)
            seconds = time.monotonic() - start
            self._on_invocation(name, variant, seconds, failure is not None)
            all_dimensions, *type_dimensions = instance_dimensions(
                instance, MetricDimensions(name, variant, component=component_name)
            )
            dimensions_list = [all_dimensions]
            if not component:
                dimensions_list.append(all_dimensions._replace(config=fleet.config))
            family = names.COPY_METRICS if component else names.INSTANCE_METRICS
            values = partial(
                invocation_metrics, invocation, family.calls, seconds=seconds, error=failure
            )
            self._metrics.add_all(values(instances=max(1, count)), dimensions_list)
            if type_dimensions:
                instances = fleet.serving().get(variant, [])
                same_type = max(1, sum(other.pool == instance.pool for other in instances))
                self._metrics.add_all(values(instances=same_type), type_dimensions)
        return variant

    def _find_component(self, endpoint: Endpoint, name: str | None) -> Component | None:
        """Return the requested component; None if the endpoint has models. Raise `ApiError`.

        Source of the messages, and of ErrorCode: BerriAI/litellm, also #37766; of the second also
        langchain-ai/langchain#14344.
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
                ErrorCode="INFERENCE_COMPONENT_NAME_MISSING",
            )
        component = self._components.get(name)
        if component is None or component.name != endpoint.name:  # no source
            message = f'Could not find inference component "{COMPONENT.arn(name)}".'
            raise ApiError("ValidationError", message)
        return component
