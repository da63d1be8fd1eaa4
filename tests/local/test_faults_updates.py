"""What callers see while an update shifts traffic, and when an alarm rolls it back."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from local_aws.clock import SPEED
from tests.local.asking import Asker, processes
from tests.local.conftest import LocalAws
from tests.local.hosting import configure, host, single_model
from tests.local.invoking import invoked_all_the_while
from tests.local.tiny_models import pack_python, times
from tests.unit.local_aws.conftest import eventually

BUCKET, ENDPOINT, ALARM = "shop-models", "shop", "shop-errors"
INSTANCES = 2  # of which a canary may be half
CAPTURE = {
    "InitialSamplingPercentage": 100,
    "DestinationS3Uri": f"s3://{BUCKET}/captured",
    "CaptureOptions": [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}],
    "CaptureContentTypeHeader": {"JsonContentTypes": ["application/json"]},
}


@pytest.fixture(scope="module", autouse=True)
def _long_waits() -> Iterator[None]:
    """Bake for six minutes, and look at the alarms every second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SPEED, "10")
        yield


@pytest.fixture(scope="module")
def old(_long_waits: None, local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory) -> Asker:
    """An endpoint that captures, with a model that doubles; the one of `new` triples."""
    s3: Any = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    for factor, name in ((2, "old"), (3, "new")):
        archive = pack_python(tmp_path_factory.mktemp("models") / "model", times(factor))
        s3.put_object(Bucket=BUCKET, Key=f"{name}.tar.gz", Body=archive)
    triples = single_model(f"s3://{BUCKET}/new.tar.gz", default_model="model")
    configure("new", triples, instances=INSTANCES)
    container = single_model(f"s3://{BUCKET}/old.tar.gz", default_model="model")
    host(ENDPOINT, container, instances=INSTANCES, DataCaptureConfig=CAPTURE)
    alarm("OK")
    return Asker(ENDPOINT)


def alarm(state: str) -> None:
    cloudwatch: Any = boto3.client("cloudwatch")
    cloudwatch.put_metric_alarm(
        AlarmName=ALARM,
        Namespace="AWS/SageMaker",
        MetricName="Invocation4XXErrors",
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="GreaterThanThreshold",
    )
    cloudwatch.set_alarm_state(AlarmName=ALARM, StateValue=state, StateReason="a test")


def test_a_canary_gets_a_part_of_the_calls_until_an_alarm_rolls_it_back(
    local_aws: LocalAws, old: Asker
) -> None:
    sagemaker: Any = boto3.client("sagemaker")
    canary = {"Type": "INSTANCE_COUNT", "Value": 1}
    routing = {"Type": "CANARY", "CanarySize": canary, "WaitIntervalInSeconds": 3600}
    with invoked_all_the_while(old.ask):
        sagemaker.update_endpoint(
            EndpointName=ENDPOINT,
            EndpointConfigName="new",
            DeploymentConfig={
                "BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": routing},
                "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": ALARM}]},
            },
        )
        eventually(lambda: old.ask() == 21)
        eventually(lambda: old.ask() == 14)
        alarm("ALARM")
        eventually(
            lambda: (
                sagemaker.describe_endpoint(EndpointName=ENDPOINT)["EndpointStatus"] != "Updating"
            )
        )
    description = sagemaker.describe_endpoint(EndpointName=ENDPOINT)
    assert description["EndpointStatus"] == "InService"
    assert description["EndpointConfigName"] == ENDPOINT
    assert [old.ask() for _ in range(10)] == [14] * 10
    assert len(processes(local_aws.folder.instances, "tritonserver")) == INSTANCES


def test_what_went_through_an_endpoint_is_captured_as_json_lines(old: Asker) -> None:
    answer = old.answer(InferenceId="one-of-many")
    said = answer["Body"].read().decode()
    lines = eventually(lambda: [it for it in captured() if "one-of-many" in it])
    (line,) = map(json.loads, lines)
    given, returned = (line["captureData"][side] for side in ("endpointInput", "endpointOutput"))
    assert json.loads(given.pop("data"))["inputs"][0]["data"] == [7]
    assert given == {"observedContentType": "application/json", "mode": "INPUT", "encoding": "JSON"}
    assert (returned["mode"], returned["encoding"], returned["data"]) == ("OUTPUT", "JSON", said)
    assert line["eventMetadata"]["inferenceId"] == "one-of-many"
    assert line["eventMetadata"].keys() == {"eventId", "inferenceId", "inferenceTime"}
    assert line["eventVersion"] == "0"


def captured() -> list[str]:
    """Return the lines below where the developer guide says that they are."""
    s3: Any = boto3.client("s3")
    prefix = f"captured/{ENDPOINT}/AllTraffic/"
    found = s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
    bodies = (s3.get_object(Bucket=BUCKET, Key=it["Key"])["Body"].read() for it in found)
    return [line for body in bodies for line in body.decode().splitlines()]
