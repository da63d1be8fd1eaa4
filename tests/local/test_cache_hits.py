"""The cache hit rate predicted by `tritonsm size`, compared with that of a real Triton."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import numpy as np
import pytest

from cli.load.cache import hit_rate, zipf
from local_sagemaker.settings import MEMORY
from local_sagemaker.tests.support.endpoint_caller import EndpointCaller
from local_sagemaker.tests.support.endpoints import create_endpoint, multi_model
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import pack_python, times
from local_sagemaker.tests.support.waiting import eventually

pytestmark = pytest.mark.drill

MODELS, EXPONENT, IN_MEMORY, REQUESTS = 20, 1.5, 4, 60
MEMORY_MIB = "405"
"""Memory for four models: Triton takes 36 MiB, each model 82."""
WEIGHTS = "self.weights = b'1' * (64 << 20)"
ALLOWED_DIFFERENCE = 0.1
SETTINGS = {MEMORY: MEMORY_MIB}


@pytest.fixture
def zipf_endpoint(
    local_sagemaker: LocalSageMaker, tmp_path_factory: pytest.TempPathFactory
) -> EndpointCaller:
    """An endpoint whose models are not loaded."""
    folder, s3 = tmp_path_factory.mktemp("models"), boto3.client("s3")
    s3.create_bucket(Bucket="zipf-models")
    for number in range(MODELS):
        archive = pack_python(folder / f"m{number}", times(number, initialize=WEIGHTS))
        s3.put_object(Bucket="zipf-models", Key=f"m{number}.tar.gz", Body=archive)
    create_endpoint("zipf", multi_model("s3://zipf-models/"))
    return EndpointCaller("zipf")


def statistics(metric: str) -> Counter[str]:
    """Return SampleCount and Sum of a metric of the endpoint."""
    cloudwatch: Any = boto3.client("cloudwatch")
    now = datetime.now(UTC)
    dimensions = {"EndpointName": "zipf", "VariantName": "AllTraffic"}
    response = cloudwatch.get_metric_statistics(
        Namespace="AWS/SageMaker",
        MetricName=metric,
        Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
        StartTime=now - timedelta(hours=2),
        EndTime=now + timedelta(minutes=1),
        Period=60,
        Statistics=["SampleCount", "Sum"],
    )
    totals = Counter[str]()
    for point in response["Datapoints"]:
        totals.update({name: point[name] for name in ("SampleCount", "Sum")})
    return totals


def test_predicted_cache_hit_rate_is_accurate(zipf_endpoint: EndpointCaller) -> None:
    shares = zipf(MODELS, EXPONENT)
    for model in np.random.default_rng(0).choice(MODELS, REQUESTS, p=shares).tolist():
        assert zipf_endpoint.predict(f"m{model}") == 7 * model
    eventually(lambda: statistics("ModelCacheHit")["SampleCount"] == REQUESTS)
    hits = statistics("ModelCacheHit")["Sum"]
    measured = hits / REQUESTS
    predicted = hit_rate(shares, IN_MEMORY)
    loads = REQUESTS - hits
    eventually(lambda: statistics("ModelLoadingTime")["SampleCount"] == loads)
    eventually(lambda: statistics("ModelUnloadingTime")["SampleCount"] == loads - IN_MEMORY)
    assert measured == pytest.approx(predicted, abs=ALLOWED_DIFFERENCE), (measured, predicted)
