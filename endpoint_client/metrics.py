"""CloudWatch metrics of an application's calls by model, which SageMaker does not have.

    client = EndpointClient(stage="prod", endpoint="text", metrics=EmfLogger())

Needs the extra `triton-sagemaker[metrics]`: Powertools for AWS Lambda, which writes CloudWatch's
embedded metric format to standard output, on Lambda and elsewhere.
"""

import json

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from endpoint_client._client import ModelCall

NAMESPACE = "Triton/Client"


class EmfLogger:
    """Writer of `Requests`, `Errors` and `Latency` of each call, by endpoint and model.

    Each line also has the version, and the type and message of the error.
    """

    def __init__(self, namespace: str = NAMESPACE) -> None:
        self._namespace = namespace

    def __call__(self, call: ModelCall) -> None:
        """Write the line of a call."""
        line = EphemeralMetrics(namespace=self._namespace)
        line.add_dimension("Endpoint", call.entry.endpoint)
        line.add_dimension("Model", call.entry.model)
        line.add_metric("Requests", MetricUnit.Count, 1)
        line.add_metric("Errors", MetricUnit.Count, call.error is not None)
        line.add_metric("Latency", MetricUnit.Milliseconds, 1000 * call.seconds)
        line.add_metadata("version", call.entry.version)
        if call.error:
            line.add_metadata("error", f"{type(call.error).__name__}: {call.error}")
        # One write per line: Powertools' flush_metrics writes the line break separately, so that
        # lines of several threads could mix.
        print(f"{json.dumps(line.serialize_metric_set())}\n", end="", flush=True)  # noqa: T201
