"""Metrics of an application's calls in CloudWatch, by model: SageMaker has none.

    client = EndpointClient(stage="prod", endpoint="text", metrics=EmfLogger())

Needs the extra `triton-sagemaker[metrics]`: Powertools for AWS Lambda, which writes CloudWatch's
embedded metric format to standard output, on Lambda and elsewhere.
"""

import json

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from endpoint_client._client import ModelCall

NAMESPACE = "Triton/Client"


class EmfLogger:
    """Writes `Requests`, `Errors` and `Latency` of each call, by endpoint and model.

    The line also has the version, and the error's class and text.
    """

    def __init__(self, namespace: str = NAMESPACE) -> None:
        self._namespace = namespace

    def __call__(self, call: ModelCall) -> None:
        """Write one line."""
        line = EphemeralMetrics(namespace=self._namespace)
        line.add_dimension("Endpoint", call.entry.endpoint)
        line.add_dimension("Model", call.entry.model)
        line.add_metric("Requests", MetricUnit.Count, 1)
        line.add_metric("Errors", MetricUnit.Count, call.error is not None)
        line.add_metric("Latency", MetricUnit.Milliseconds, 1000 * call.seconds)
        line.add_metadata("version", call.entry.version)
        if call.error:
            line.add_metadata("error", f"{type(call.error).__name__}: {call.error}")
        # In one write: Powertools' flush_metrics has a second one for the end of the line, between
        # which another thread may write.
        print(f"{json.dumps(line.serialize_metric_set())}\n", end="", flush=True)  # noqa: T201
