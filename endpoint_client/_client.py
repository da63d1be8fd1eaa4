"""The client for threads, whose calls `_asyncio` makes on threads of its own."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from typing import Any

import boto3

from endpoint_client import _batches, _payload
from endpoint_client._catalog import CachedCatalog, CatalogEntry
from endpoint_client._errors import EndpointError, ModelFailed, named
from endpoint_client._payload import Array, Encoded, Inputs, Parameters
from endpoint_client._retries import Deadline, Retries
from endpoint_client._stream import events
from endpoint_client._transport import REQUEST_TIMEOUT, Transport

ATTEMPT_SECONDS = 70.0
"""A container may take 60 s. Source: InvokeEndpoint's API reference, which asks for 70 s."""
STREAM_SECONDS = 490.0
"""A stream may take 8 minutes. Source: Amazon SageMaker AI FAQs, hosting."""


@dataclass(frozen=True)
class ModelCall:
    """An invocation that has ended, for metrics: `error` is None where it succeeded.

    `seconds` are those of the invocation with its retries, without the look-up.
    """

    entry: CatalogEntry
    seconds: float
    error: EndpointError | None


class EndpointClient(AbstractContextManager["EndpointClient"]):
    """Invokes the models of one endpoint. Safe to share by threads.

    `stage` and `endpoint` name the catalog. `catalog_ttl` is how long, in seconds, a resolved
    model is used before the catalog is asked again, and so how long a new version may wait.
    `max_attempts` is how often a request is sent at most, while SageMaker loads the model or
    refuses it without having tried. `wait_until_ready` is how long, in seconds, a call goes on
    beyond that while a model is loading, or while an inference component that has scaled to zero
    starts a copy. `session` is the boto3 session to use. `metrics` is called
    with each `ModelCall` that has ended. Raises `EndpointError` where the session has no region, or
    a CA bundle that cannot be read.
    """

    def __init__(
        self,
        *,
        stage: str,
        endpoint: str,
        catalog_ttl: float = 60.0,
        max_attempts: int = 5,
        wait_until_ready: float = 0.0,
        session: boto3.Session | None = None,
        metrics: Callable[[ModelCall], None] | None = None,
    ) -> None:
        session = session or boto3.Session()
        if not session.region_name:
            raise EndpointError("no AWS region: set AWS_DEFAULT_REGION, or give the session one")
        self._metrics, self._max_attempts = metrics, max_attempts
        self._transport, self._retries = Transport(session), Retries(wait_until_ready)
        self._runtime = self._transport.client("sagemaker-runtime")
        ssm, prefix = self._transport.client("ssm"), f"/triton/{stage}/{endpoint}"
        self._catalog = CachedCatalog(ssm, self._retries, prefix, catalog_ttl)

    def models(self, *, timeout: float | None = None) -> list[str]:
        """Return the names of the endpoint's models, sorted."""
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
        numbers, which become that dtype where it loses nothing; or to a list of strings for a BYTES
        input. `outputs` are the names of those to return, by default all; `parameters` those of
        Triton's request. `variant` is the production variant to invoke. `timeout` ends the call,
        with its look-up and retries, after so many seconds; without one, each attempt may take
        70 s. `binary` sends and asks for raw tensors after a JSON header
        (`application/vnd.sagemaker-triton.binary+json`); False sends plain JSON.

        Raises `EndpointError`.
        """
        deadline = Deadline.of(timeout)
        entry = self._catalog.resolve(model, deadline)
        arrays = _payload.arrays_of(entry, inputs)
        request = _payload.encode(entry, arrays, outputs, parameters, binary=binary)
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
        """Return the outputs of any number of rows by name, in their order.

        The rows are sent in requests of at most the model's `max_batch_size` rows and 6 MB,
        `concurrency` of them at once. The rest is as for `invoke`. Raises `PartlyFailed` where some
        rows failed: all others are invoked, and it has their outputs.
        """
        deadline = Deadline.of(timeout)
        entry = self._catalog.resolve(model, deadline)
        arrays = _payload.arrays_of(entry, inputs)

        def invoke(rows: range) -> dict[str, Array]:
            chosen = {name: array[rows.start : rows.stop] for name, array in arrays.items()}
            request = _payload.encode(entry, chosen, outputs, parameters)
            return self._invoke(entry, request, variant, deadline)

        batches = _batches.batches(entry, arrays)
        with ThreadPoolExecutor(concurrency) as threads:
            results = threads.map(lambda rows: _batches.results(invoke, rows), batches)
            return _batches.joined(entry, [result for part in results for result in part])

    def stream(
        self,
        model: str,
        inputs: Inputs,
        *,
        parameters: Parameters | None = None,
        variant: str | None = None,
        timeout: float | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Yield the outputs of each response by name, as soon as it is there.

        For an endpoint whose stage has `inference_type: generate_stream`, not a multi-model one.
        Outputs are as Triton's JSON has them: a value, or a flat list of several. `timeout` is for
        the first response, and for each after it. Raises `EndpointError`.
        """
        deadline = Deadline.of(timeout)
        entry = self._catalog.resolve(model, deadline)
        if entry.target_model is not None:
            fix = "use invoke, or another hosting with server.inference_type: generate_stream"
            _payload.refuse(entry, f"a multi-model endpoint cannot stream: {fix}")
        arrays = _payload.arrays_of(entry, inputs)
        request = _payload.encode_generate(entry, arrays, parameters)
        names = {tensor.name for tensor in entry.outputs}
        with self._measured(entry):
            send = self._runtime.invoke_endpoint_with_response_stream
            answer = self._send(send, entry, request, variant, deadline, STREAM_SECONDS)
            parts = (part["PayloadPart"]["Bytes"] for part in answer["Body"])
            with closing(answer["Body"]), named(str(entry)):
                for event in events(str(entry), parts):
                    yield {name: event[name] for name in event if name in names}

    def close(self) -> None:
        """Close the connections; calls under way are answered, later ones open new connections."""
        self._transport.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _invoke(
        self, entry: CatalogEntry, request: Encoded, variant: str | None, deadline: Deadline
    ) -> dict[str, Array]:
        def send(**members: Any) -> tuple[bytearray, str]:
            answer = self._runtime.invoke_endpoint(**members)
            return bytearray(answer["Body"].read()), answer.get("ContentType", "")

        with self._measured(entry):
            answer = self._send(send, entry, request, variant, deadline, ATTEMPT_SECONDS)
            try:
                return _payload.decode(*answer)
            except Exception as error:  # of json, numpy or tritonclient
                raise ModelFailed(f"{entry}: invalid answer of Triton: {error!r}") from error

    def _send(
        self,
        send: Callable[..., Any],
        entry: CatalogEntry,
        request: Encoded,
        variant: str | None,
        deadline: Deadline,
        most: float,
    ) -> Any:
        """Return the answer to a request, which is sent again where that is safe."""
        targets = {
            "TargetModel": entry.target_model,
            "InferenceComponentName": entry.inference_component,
            "TargetVariant": variant,
        }
        members = {name: value for name, value in targets.items() if value is not None}
        members |= {"EndpointName": entry.endpoint, "ContentType": request[1]}

        def attempt() -> Any:
            REQUEST_TIMEOUT.set(deadline.left(most))
            with named(str(entry)):
                return send(Body=request[0], **members)

        return self._retries.call(attempt, attempts=self._max_attempts, deadline=deadline)

    @contextmanager
    def _measured(self, entry: CatalogEntry) -> Iterator[None]:
        begun, failed = time.monotonic(), None
        try:
            yield
        except EndpointError as error:
            failed = error
            raise
        finally:
            if self._metrics:
                self._metrics(ModelCall(entry, time.monotonic() - begun, failed))
