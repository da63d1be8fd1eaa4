"""A canary update that an alarm rolls back, and data capture."""

import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from local_sagemaker.settings import SPEED
from local_sagemaker.tests.support.endpoint_caller import EndpointCaller, Failure, processes
from local_sagemaker.tests.support.endpoints import (
    create_config,
    create_endpoint,
    put_rollback_alarm,
    single_model,
)
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import pack_python, times
from local_sagemaker.tests.support.waiting import eventually

BUCKET, ENDPOINT, ALARM = "shop-models", "shop", "shop-errors"
INSTANCES = 2  # a canary may have at most half of the instances
CAPTURE = {
    "InitialSamplingPercentage": 100,
    "DestinationS3Uri": f"s3://{BUCKET}/captured",
    "CaptureOptions": [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}],
}


@pytest.fixture(scope="module", autouse=True)
def _long_waits() -> Iterator[None]:
    """Let a minute of AWS take two seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SPEED, "30")
        yield


@pytest.fixture(scope="module")
def old(
    _long_waits: None, local_sagemaker: LocalSageMaker, tmp_path_factory: pytest.TempPathFactory
) -> EndpointCaller:
    """An endpoint with data capture; the configuration `broken` has a failing model."""
    s3: Any = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    for name, code in (("old", times(2)), ("broken", times(2, execute="raise ValueError(1)"))):
        archive = pack_python(tmp_path_factory.mktemp("models") / "model", code)
        s3.put_object(Bucket=BUCKET, Key=f"{name}.tar.gz", Body=archive)
    broken = single_model(f"s3://{BUCKET}/broken.tar.gz", default_model="model")
    create_config("broken", broken, instances=INSTANCES)
    container = single_model(f"s3://{BUCKET}/old.tar.gz", default_model="model")
    create_endpoint(ENDPOINT, container, instances=INSTANCES, DataCaptureConfig=CAPTURE)
    return EndpointCaller(ENDPOINT)


def update(config: str) -> None:
    """Start an update whose canary has half of the traffic for an hour."""
    canary = {"Type": "INSTANCE_COUNT", "Value": 1}
    routing = {"Type": "CANARY", "CanarySize": canary, "WaitIntervalInSeconds": 3600}
    put_rollback_alarm(ALARM, endpoint=ENDPOINT, config=config)
    sagemaker: Any = boto3.client("sagemaker")
    sagemaker.update_endpoint(
        EndpointName=ENDPOINT,
        EndpointConfigName=config,
        DeploymentConfig={
            "BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": routing},
            "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": ALARM}]},
        },
    )


def test_alarm_rolls_back_a_failing_canary(
    local_sagemaker: LocalSageMaker, old: EndpointCaller
) -> None:
    sagemaker: Any = boto3.client("sagemaker")
    update("broken")
    answers = []

    def has_ended() -> bool:
        answers.append(old.predict_or_failure())
        result = sagemaker.describe_endpoint(EndpointName=ENDPOINT)
        return bool(result["EndpointStatus"] != "Updating")

    eventually(has_ended)
    failures = [answer for answer in answers if isinstance(answer, Failure)]
    assert [failure.status for failure in failures] == [424] * len(failures)
    assert {answer for answer in answers if not isinstance(answer, Failure)} == {14}
    assert 0 < len(failures) < len(answers)
    description = sagemaker.describe_endpoint(EndpointName=ENDPOINT)
    assert description["EndpointStatus"] == "InService"
    assert description["EndpointConfigName"] == ENDPOINT
    assert "FailureReason" not in description
    assert [old.predict() for _ in range(10)] == [14] * 10
    assert len(processes(local_sagemaker.folder.instances, "tritonserver")) == INSTANCES
    cloudwatch: Any = boto3.client("cloudwatch")
    history = cloudwatch.describe_alarm_history(AlarmName=ALARM, HistoryItemType="StateUpdate")
    changes = [item["HistorySummary"] for item in history["AlarmHistoryItems"]]
    assert "Alarm updated from OK to ALARM" in changes


def test_captured_data_is_json_lines(old: EndpointCaller) -> None:
    answer = old.invoke(InferenceId="one-of-many")
    message = answer["Body"].read().decode()
    lines = eventually(lambda: [line for line in captured() if "one-of-many" in line])
    (line,) = map(json.loads, lines)
    values, returned = (line["captureData"][side] for side in ("endpointInput", "endpointOutput"))
    assert json.loads(b64decode(values.pop("data")))["inputs"][0]["data"] == [7]
    assert values == {
        "observedContentType": "application/json",
        "mode": "INPUT",
        "encoding": "BASE64",
    }
    assert (returned["mode"], returned["encoding"]) == ("OUTPUT", "BASE64")
    assert b64decode(returned["data"]).decode() == message
    assert line["eventMetadata"]["inferenceId"] == "one-of-many"
    assert line["eventMetadata"].keys() == {"eventId", "inferenceId", "inferenceTime"}
    assert line["eventVersion"] == "0"


def captured() -> list[str]:
    """Return the captured lines, from the prefix in the developer guide."""
    s3: Any = boto3.client("s3")
    prefix = f"captured/{ENDPOINT}/AllTraffic/"
    result = s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
    bodies = (s3.get_object(Bucket=BUCKET, Key=record["Key"])["Body"].read() for record in result)
    return [line for body in bodies for line in body.decode().splitlines()]
