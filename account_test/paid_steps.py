"""Steps that use the endpoint, in the order of execution."""

import io
import json
import tarfile
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from account_test.answers import Record
from account_test.names import ENDPOINT_NAME, MODEL, STAGE, VARIANT, VARIANTS
from account_test.run import Run, StepFailed
from release.delivery.steps import say

VALID_INPUT, INVALID_INPUT = 7.0, -1.0
"""Inputs of the test model, which rejects negative numbers."""
CANARY = {"strategy": "canary", "percent": 10, "wait_seconds": 600}
ALARM_TIMEOUT = timedelta(minutes=7)
"""Time in the canary (10 minutes) after which the run sets the rollback alarm itself."""
SCALABLE_TARGET: Record = {
    "ServiceNamespace": "sagemaker",
    "ResourceId": f"endpoint/{ENDPOINT_NAME}/variant/{VARIANT}",
    "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
}
BACKEND = "dali"
BACKEND_CONFIG = """
max_batch_size: 8
input [ { name: "X" data_type: TYPE_UINT8 dims: [ -1 ] } ]
output [ { name: "Y" data_type: TYPE_UINT8 dims: [ -1 ] } ]
"""


def deploy(run: Run) -> None:
    """Deploy both stacks. Raise `StepFailed` on failure."""
    if not run.deploy():
        raise StepFailed("the deploy failed")


def invoke(run: Run) -> None:
    """Invoke the model."""
    run.invoke(VALID_INPUT)


def backend(run: Run) -> None:
    """Invoke a model of the DALI backend; its content need not be a valid pipeline."""
    sagemaker = run.recorder.client("sagemaker")
    name = run.wait_until_idle()["ProductionVariants"][0]["ModelName"]
    url = sagemaker.describe_model(ModelName=name)["PrimaryContainer"]["ModelDataUrl"]
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    content, config = io.BytesIO(), f'backend: "{BACKEND}"{BACKEND_CONFIG}'
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for path, text in {"config.pbtxt": config, "1/model.dali": "none"}.items():
            info = tarfile.TarInfo(f"pictures/{path}")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    key = f"{prefix}{STAGE}.tar.gz"
    run.recorder.client("s3").put_object(Bucket=bucket, Key=key, Body=content.getvalue())
    _invoke_archive(run, f"{STAGE}.tar.gz")


def update(run: Run) -> None:
    """Deploy a new model version and a new configuration; invoke both versions."""
    old = run.models.resolve(MODEL).target_model
    run.checkout.set_factor(3)
    run.checkout.configure(server={"log_verbose": 1})
    _deploy_watched(run)
    run.invoke(VALID_INPUT)
    _invoke_archive(run, str(old))
    run.describe()


def scale(run: Run) -> None:
    """Scale the variant to two instances, and register it with both limits at two."""
    run.describe()
    desired = [{"VariantName": VARIANT, "DesiredInstanceCount": 2}]
    request = {"EndpointName": ENDPOINT_NAME, "DesiredWeightsAndCapacities": desired}
    run.recorder.call("sagemaker:UpdateEndpointWeightsAndCapacities", **request)
    run.wait_until_idle()
    limits = {"MinCapacity": 2, "MaxCapacity": 2}
    run.recorder.call("application-autoscaling:RegisterScalableTarget", **SCALABLE_TARGET, **limits)


def alarm(run: Run) -> None:
    """Cause errors during an update, so that its alarm rolls it back."""
    start, old_config = datetime.now(UTC), run.wait_until_idle()["EndpointConfigName"]
    run.checkout.configure(server={"log_verbose": 2}, update=CANARY)
    with run.repeating_calls(lambda: run.invoke(INVALID_INPUT), lambda: _watch_alarms(run)):
        _deploy_watched(run)
    new_configs = {summary["EndpointConfigName"] for summary in _deployments(run)} - {old_config}
    variant = {"EndpointName": ENDPOINT_NAME, "VariantName": VARIANT}
    for dimensions in (variant, *({**variant, "EndpointConfigName": name} for name in new_configs)):
        run.recorder.call(
            "cloudwatch:GetMetricStatistics",
            Namespace="AWS/SageMaker",
            MetricName="ModelLatency",
            Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
            StartTime=start,
            EndTime=datetime.now(UTC),
            Period=60,
            Statistics=["SampleCount"],
        )


def failed_update(run: Run) -> None:
    """Deploy a configuration whose containers do not start."""
    run.checkout.configure(server={"additional_args": "--no-such-option"})
    _deploy_watched(run)


def same_configuration(run: Run) -> None:
    """Update the endpoint to its current configuration."""
    _update_endpoint(
        run, run.wait_until_idle()["EndpointConfigName"], RetainAllVariantProperties=True
    )


def another_variant(run: Run) -> None:
    """Update the endpoint to a configuration with a second variant, without registered scaling."""
    (variant,) = run.wait_until_idle()["ProductionVariants"]
    run.recorder.client("application-autoscaling").deregister_scalable_target(**SCALABLE_TARGET)
    variants = [variant, {**variant, "VariantName": "Second"}]
    request = {"EndpointConfigName": VARIANTS, "ProductionVariants": variants}
    run.recorder.call("sagemaker:CreateEndpointConfig", **request)
    _update_endpoint(run, VARIANTS)


def metrics(run: Run) -> None:
    """Read the metrics (CloudWatch) and events (CloudTrail) of the previous steps."""
    dimensions = [{"Name": "EndpointName", "Value": ENDPOINT_NAME}]
    call = run.recorder.call
    call("cloudwatch:ListMetrics", Namespace=f"Triton/{ENDPOINT_NAME}")
    call("cloudwatch:ListMetrics", Namespace="AWS/SageMaker", Dimensions=dimensions)
    for stack, name, _ in run.account.resources("AWS::KMS::Key"):
        key = run.account.physical_ids(stack)[name]
        attributes = [{"AttributeKey": "ResourceName", "AttributeValue": key}]
        call("cloudtrail:LookupEvents", LookupAttributes=attributes)


def _deploy_watched(run: Run) -> None:
    """Deploy, and record the endpoint's state before, during and after the deployment."""
    run.wait_until_idle()
    with run.repeating_calls(run.describe):
        run.deploy()
    run.wait_until_idle()


def _update_endpoint(run: Run, config: str, **parameters: Any) -> None:
    request = {"EndpointName": ENDPOINT_NAME, "EndpointConfigName": config, **parameters}
    run.recorder.call("sagemaker:UpdateEndpoint", **request)
    run.wait_until_idle()


def _deployments(run: Run) -> list[Record]:
    """Return the PendingDeploymentSummary values of this step."""
    name = "PendingDeploymentSummary"
    return [
        {**answer.response[name], "date": answer.date}
        for answer in run.recorder.answers.of("DescribeEndpoint", run.recorder.step)
        if name in answer.response
    ]


def _watch_alarms(run: Run) -> None:
    """Record the rollback alarms; set one to ALARM if none fires within `ALARM_TIMEOUT`."""
    prefix = f"{ENDPOINT_NAME}-{VARIANT}-"
    alarms = run.recorder.call("cloudwatch:DescribeAlarms", AlarmNamePrefix=prefix)["MetricAlarms"]
    baking = [
        summary for summary in _deployments(run) if "Baking" in json.dumps(summary, default=str)
    ]
    has_fired = any(alarm["StateValue"] == "ALARM" for alarm in alarms)
    is_overdue = baking and datetime.now(UTC) - baking[0]["date"] > ALARM_TIMEOUT
    if alarms and not has_fired and is_overdue:
        say("  no alarm went off: setting one")
        request = {"StateValue": "ALARM", "StateReason": "make account-test"}
        run.recorder.call("cloudwatch:SetAlarmState", AlarmName=alarms[0]["AlarmName"], **request)


def _invoke_archive(run: Run, archive: str) -> None:
    """Invoke an archive by its key, without the catalog."""
    tensor = {"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [VALID_INPUT]}
    request = {"EndpointName": ENDPOINT_NAME, "TargetModel": archive}
    body = json.dumps({"inputs": [tensor]})
    response, error_response = {}, None
    try:
        runtime = run.recorder.client("sagemaker-runtime")
        output = runtime.invoke_endpoint(**request, ContentType="application/json", Body=body)
        response = {"Body": output["Body"].read().decode()}
    except ClientError as error:
        error_response = dict(error.response["Error"])
    run.recorder.record("sagemaker-runtime:InvokeEndpoint", request, response, error_response)
