import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.sagemaker.endpoint_operations import EndpointOperations
from local_sagemaker.tests.sagemaker.conftest import config, model
from local_sagemaker.tests.sagemaker.endpoints import (
    ARN,
    delete,
    error_message,
)


def test_detailed_observability_can_be_disabled(hosting: EndpointOperations) -> None:
    metrics = {"EnableDetailedObservability": False}
    hosting.create_endpoint_config({**config("quiet"), "MetricsConfig": metrics})
    for name, enabled in (("one", True), ("quiet", False)):
        metrics_config = hosting.describe_endpoint_config({"EndpointConfigName": name})[
            "MetricsConfig"
        ]
        assert metrics_config["EnableDetailedObservability"] is enabled
        assert metrics_config["MetricPublishFrequencyInSeconds"] == 60


def test_role_that_sagemaker_cannot_assume_is_refused(hosting: EndpointOperations) -> None:
    role = "arn:aws:iam::000000000000:role"
    hosting.create_model({**model("n"), "ExecutionRoleArn": f"{role}/known"})
    with pytest.raises(ApiError) as exc_info:
        hosting.create_model({**model("o"), "ExecutionRoleArn": f"{role}/none"})
    assert error_message(exc_info) == (
        "Could not access model data at s3://models/m.tar.gz. Please ensure that the role "
        f'"{role}/none" exists and that its trust relationship policy allows the action '
        '"sts:AssumeRole" for the service principal "sagemaker.amazonaws.com".'
    )


# Tags


def test_tags_exist_until_the_resource_is_deleted(serving: EndpointOperations) -> None:
    resources = [{"ResourceArn": f"{ARN}:{path}"} for path in ("model/m", "endpoint-config/one")]
    resources.append({"ResourceArn": f"{ARN}:endpoint/text"})
    for resource in resources:
        assert serving.tags.list_tags(resource) == {"Tags": []}
    delete(serving)
    serving.delete_endpoint_config({"EndpointConfigName": "one"})
    serving.delete_model({"ModelName": "m"})
    for resource in resources:
        with pytest.raises(ApiError) as exc_info:
            serving.tags.list_tags(resource)
        assert error_message(exc_info).startswith(f'Could not find "{resource["ResourceArn"]}"')


def test_tags_are_limited_to_50(hosting: EndpointOperations) -> None:
    resource = {"ResourceArn": f"{ARN}:model/m"}
    fifty = [{"Key": str(number), "Value": ""} for number in range(50)]
    hosting.tags.add_tags({**resource, "Tags": fifty})
    hosting.tags.add_tags({**resource, "Tags": fifty[:1]})
    with pytest.raises(ApiError, match="at most 50 tags"):
        hosting.tags.add_tags({**resource, "Tags": [{"Key": "team", "Value": "a"}]})
    assert hosting.tags.list_tags(resource) == {"Tags": fifty}
    with pytest.raises(ApiError, match="NextToken"):
        hosting.tags.list_tags({**resource, "NextToken": "x"})
