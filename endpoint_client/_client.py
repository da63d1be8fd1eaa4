"""The synchronous client."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import boto3

from endpoint_client import _batches, _payload
from endpoint_client._catalog import CachedCatalog, CatalogEntry
from endpoint_client._errors import EndpointError, ModelFailed, translate_errors
from endpoint_client._payload import Array, EncodedRequest, Inputs, Parameters
from endpoint_client._retries import Deadline, Retries
from endpoint_client._stream import parse_events
from endpoint_client._transport import REQUEST_TIMEOUT, Transport

ATTEMPT_SECONDS = 70.0
"""Time-out of an attempt. A container may take 60 s; InvokeEndpoint's API reference recommends a
time-out of 70 s."""
STREAM_SECONDS = 490.0
"""Time-out of a stream's attempt. A stream may take 8 minutes (SageMaker AI FAQs, hosting)."""


@dataclass(frozen=True)
class ModelCall:
    """A completed invocation, for metrics; `error` is None if it succeeded.

    `seconds` is the duration of the invocation with its retries, without the look-up.
    """

    entry: CatalogEntry
    seconds: float
    error: EndpointError | None


class EndpointClient(AbstractContextManager["EndpointClient"]):
    """A thread-safe client for the models of one endpoint.

    `stage` and `endpoint` select the catalog. `catalog_ttl` is the time in seconds for which a
    catalog entry is cached, and so the maximum delay of a new version. `max_attempts` is the
    maximum number of attempts of a request with `retry_safe` errors. `wait_until_ready` is the time
    in seconds for which further attempts are made while a model is loading, or while an inference
    component that has scaled to zero starts a copy. `max_body_bytes` is the size above which a
    request is not sent, and `invoke_many` splits it. `session` is the boto3 session. `metrics` is
    called with each completed `ModelCall`. Raises `EndpointError` if the session has no region or
    its CA bundle cannot be read.
    """

    def __init__(
        self,
        *,
        stage: str,
        endpoint: str,
        catalog_ttl: float = 60.0,
        max_attempts: int = 5,
        wait_until_ready: float = 0.0,
        max_body_bytes: int = _payload.MAX_BODY_BYTES,
        session: boto3.Session | None = None,
        metrics: Callable[[ModelCall], None] | None = None,
    ) -> None:
        session = session or boto3.Session()
        if not session.region_name:
            raise EndpointError("no AWS region: set AWS_DEFAULT_REGION, or give the session one")
        self._metrics, self._max_attempts = metrics, max_attempts
        self._encode = partial(_payload.encode, max_bytes=max_body_bytes)
        self._transport, self._retries = Transport(session), Retries(wait_until_ready)
        self._runtime = self._transport.client("sagemaker-runtime")
        dynamodb = self._transport.client("dynamodb")
        self._catalog = CachedCatalog(dynamodb, self._retries, stage, endpoint, catalog_ttl)

    def models(self, *, timeout: float | None = None) -> list[str]:
        """Return the names of the endpoint's models, sorted, and cache their entries."""
        return self._catalog.models(Deadline.of(timeout))

    def resolve(self, model: str, *, timeout: float | None = None) -> CatalogEntry:
        """Return the current version of a model. Raises `UnknownModel`."""
        return self._catalog.resolve(model, Deadline.of(timeout))

    def invoke(
        self,
        model: str,
        inputs: Inputs,
        *,
        outputs: Sequence[str] | None = None,
        parameters: Parameters | None = None,
        variant: str | None = None,
        timeout: float | None = None,
        binary: bool = True,
    ) -> dict[str, Array]:
        """Return the outputs of a model by name.

        `inputs` maps input names to arrays in the model's dtype, batch axis first; to lists of
        numbers, which are converted to that dtype if it can represent them; or to a list of strings
        for a BYTES input. `outputs` are the names of the outputs to return, by default all.
        `parameters` are the parameters of Triton's request. `variant` is the production variant to
        invoke. `timeout` limits the call, with its look-up and retries, in seconds; by default,
        each attempt may take 70 s. `binary` selects raw tensors after a JSON header
        (`application/vnd.sagemaker-triton.binary+json`) instead of JSON.

        Raises `EndpointError`.
        """
        deadline = Deadline.of(timeout)
        entry = self._catalog.resolve(model, deadline)
        arrays = _payload.to_arrays(entry, inputs)
        request = self._encode(entry, arrays, outputs, parameters, binary=binary)
        return self._invoke(entry, request, variant, deadline)

    def invoke_many(
        self,
        model: str,
        inputs: Inputs,
        *,
        outputs: Sequence[str] | None = None,
        parameters: Parameters | None = None,
        variant: str | None = None,
        timeout: float | None = None,
        concurrency: int = 8,
    ) -> dict[str, Array]:
        """Return the outputs of any number of rows by name, in the order of the rows.

        The rows are sent in requests of at most the model's `max_batch_size` rows, and at most
        `max_body_bytes`, at most `concurrency` requests at the same time. Other parameters are
        those of `invoke`. Raises `PartlyFailed`, with the outputs of the other rows, if some rows
        failed.
        """
        deadline = Deadline.of(timeout)
        entry = self._catalog.resolve(model, deadline)
        arrays = _payload.to_arrays(entry, inputs)

        def invoke(rows: range) -> dict[str, Array]:
            batch = {name: array[rows.start : rows.stop] for name, array in arrays.items()}
            request = self._encode(entry, batch, outputs, parameters)
            return self._invoke(entry, request, variant, deadline)

        batches = _batches.split_rows(entry, arrays)
        with ThreadPoolExecutor(concurrency) as threads:
            results = threads.map(partial(_batches.invoke_rows, invoke), batches)
            return _batches.join_outputs(entry, [*chain.from_iterable(results)])

    def stream(
        self,
        model: str,
        inputs: Inputs,
        *,
        parameters: Parameters | None = None,
        variant: str | None = None,
        timeout: float | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Yield the outputs of each response by name, as soon as the response arrives.

        The endpoint needs `inference_type: generate_stream`, and must not be a multi-model
        endpoint. Outputs have the form of Triton's JSON: a value, or a flat list of values.
        `timeout` limits the wait for the first response, and for each further response. Raises
        `EndpointError`.
        """
        deadline = Deadline.of(timeout)
        entry = self._catalog.resolve(model, deadline)
        if entry.target_model is not None:
            fix = "use invoke, or another hosting with server.inference_type: generate_stream"
            _payload.reject_request(entry, f"a multi-model endpoint cannot stream: {fix}")
        arrays = _payload.to_arrays(entry, inputs)
        request = _payload.encode_generate(entry, arrays, parameters)
        names = {tensor.name for tensor in entry.outputs}
        with self._report_call(entry):
            send = self._runtime.invoke_endpoint_with_response_stream
            response = self._send(send, entry, request, variant, deadline, STREAM_SECONDS)
            chunks = (event["PayloadPart"]["Bytes"] for event in response["Body"])
            with closing(response["Body"]), translate_errors(str(entry)):
                for content in parse_events(str(entry), chunks):
                    yield {name: content[name] for name in content if name in names}

    def close(self) -> None:
        """Close the connections. Calls in progress complete; later calls open new connections."""
        self._transport.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _invoke(
        self, entry: CatalogEntry, request: EncodedRequest, variant: str | None, deadline: Deadline
    ) -> dict[str, Array]:
        def send(**fields: Any) -> tuple[bytearray, str]:
            response = self._runtime.invoke_endpoint(**fields)
            return bytearray(response["Body"].read()), response.get("ContentType", "")

        with self._report_call(entry):
            response = self._send(send, entry, request, variant, deadline, ATTEMPT_SECONDS)
            try:
                return _payload.decode(*response)
            except Exception as error:  # json, numpy and tritonclient have no common type
                raise ModelFailed(f"{entry}: invalid response from Triton: {error!r}") from error

    def _send(
        self,
        send: Callable[..., Any],
        entry: CatalogEntry,
        request: EncodedRequest,
        variant: str | None,
        deadline: Deadline,
        attempt_seconds: float,
    ) -> Any:
        """Send a request with retries and return the response."""
        target_fields = {
            "TargetModel": entry.target_model,
            "InferenceComponentName": entry.inference_component,
            "TargetVariant": variant,
        }
        fields = {name: value for name, value in target_fields.items() if value is not None}
        fields |= {"EndpointName": entry.endpoint, "ContentType": request.content_type}

        def attempt() -> Any:
            REQUEST_TIMEOUT.set(deadline.remaining(attempt_seconds))
            with translate_errors(str(entry)):
                return send(Body=request.body, **fields)

        return self._retries.call(attempt, attempts=self._max_attempts, deadline=deadline)

    @contextmanager
    def _report_call(self, entry: CatalogEntry) -> Iterator[None]:
        """Call `metrics` with the duration and the error of the `with` block."""
        start, call_error = time.monotonic(), None
        try:
            yield
        except EndpointError as error:
            call_error = error
            raise
        finally:
            if self._metrics:
                self._metrics(ModelCall(entry, time.monotonic() - start, call_error))
