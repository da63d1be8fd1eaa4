"""How CloudFormation makes, changes and deletes SageMaker's hosting resources."""

import time
import uuid
from collections.abc import Iterator
from typing import Any, ClassVar

from local_sagemaker.cloudformation import Created, ResourceType, Service, typed

STABILIZE_SECONDS = 9 * 3600
"""More than an update may take: 8 hours, the most of MaximumExecutionTimeoutInSeconds."""

Properties = dict[str, Any]


class HostingResource(ResourceType):
    """A resource that SageMaker knows by a name, and CloudFormation by its ARN."""

    kind: ClassVar[str]

    def create(self, logical_id: str, properties: Properties, stack: str) -> Created:
        """Create it, under a name of CloudFormation's making where the template has none."""
        name = properties.get(f"{self.kind}Name") or _generated_name(stack, logical_id)
        request = typed({**self.request(properties), f"{self.kind}Name": name})
        answer = self._service.call(f"Create{self.kind}", request)
        return answer[f"{self.kind}Arn"], {f"{self.kind}Name": name}

    def update(self, physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
        """Only tags change in place."""
        before, after = ({it["Key"]: it for it in each.get("Tags", [])} for each in (old, new))
        arn = {"ResourceArn": physical_id}
        if gone := before.keys() - after.keys():
            self._service.call("DeleteTags", {**arn, "TagKeys": list(gone)})
        self._service.call("AddTags", {**arn, "Tags": list(after.values())})
        return physical_id, {f"{self.kind}Name": self.name(physical_id, new)}

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Delete it, if it is still there."""
        request = {f"{self.kind}Name": self.name(physical_id, properties)}
        self.call_if_found(f"Delete{self.kind}", request)

    def name(self, physical_id: str, properties: Properties) -> str:
        """Return the resource's name; the ARN has it in lower case, as generated names are."""
        return str(properties.get(f"{self.kind}Name") or physical_id.rpartition("/")[2])

    def request(self, properties: Properties) -> Properties:
        """Return what the service's Create operation takes of the properties."""
        return properties


class Model(HostingResource):
    """AWS::SageMaker::Model: every property but tags replaces it."""

    kind = "Model"
    replacing = (
        "Containers", "EnableNetworkIsolation", "ExecutionRoleArn", "InferenceExecutionConfig",
        "ModelName", "PrimaryContainer", "VpcConfig",
    )  # fmt: skip


class EndpointConfigResource(HostingResource):
    """AWS::SageMaker::EndpointConfig: every property but tags replaces it."""

    kind = "EndpointConfig"
    replacing = (
        "AsyncInferenceConfig", "DataCaptureConfig", "EnableNetworkIsolation",
        "EndpointConfigName", "ExecutionRoleArn", "ExplainerConfig", "KmsKeyId", "MetricsConfig",
        "ProductionVariants", "ShadowProductionVariants", "VpcConfig",
    )  # fmt: skip


_OF_A_CREATION = ("DeploymentConfig", "EndpointConfigName", "Tags")
_OF_AN_UPDATE = (
    "DeploymentConfig", "EndpointConfigName", "ExcludeRetainedVariantProperties",
    "RetainAllVariantProperties",
)  # fmt: skip


class Endpoint(HostingResource):
    """AWS::SageMaker::Endpoint: changed in place, unless it gets another name."""

    kind = "Endpoint"
    replacing = ("EndpointName",)

    def create(self, logical_id: str, properties: Properties, stack: str) -> Created:
        """Create an endpoint and wait until it is InService.

        One that fails is deleted: the stack does not know it yet, and its name would be taken when
        the stack is deployed again. One that never settles stays, since it cannot be deleted.
        """
        physical_id, attributes = super().create(logical_id, properties, stack)
        try:
            self._wait(attributes["EndpointName"], properties["EndpointConfigName"])
        except ValueError:
            self.delete(physical_id, properties)
            raise
        return physical_id, attributes

    def update(self, physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
        """Update the endpoint and wait until it is InService again.

        Also where nothing but the DeploymentConfig has changed, with the configuration that serves.
        What CloudFormation does then has no source; Terraform's provider does so
        (hashicorp/terraform-provider-aws, internal/service/sagemaker/endpoint.go,
        resourceEndpointUpdate).

        An update that was rolled back is a failure if the endpoint says why. One that alarms take
        back leaves no reason: Terraform's provider took it for a success, and deleted what still
        served (hashicorp/terraform-provider-aws#48997). That CloudFormation does so has no source;
        here it does, so that what a stack does about it can be seen.
        """
        name = self.name(physical_id, new)
        if any(old.get(it) != new.get(it) for it in _OF_AN_UPDATE):
            request = {it: new[it] for it in _OF_AN_UPDATE if it in new}
            self._service.call("UpdateEndpoint", typed({**request, "EndpointName": name}))
            self._wait(name, new["EndpointConfigName"])
        return super().update(physical_id, old, new, stack)

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Delete the endpoint and wait until it is gone."""
        super().delete(physical_id, properties)
        request = {"EndpointName": self.name(physical_id, properties)}
        for _ in self._moments(request["EndpointName"]):
            if self.call_if_found("DescribeEndpoint", request) is None:
                return

    def request(self, properties: Properties) -> Properties:
        """What is said about retained properties is no matter of CreateEndpoint."""
        return {it: properties[it] for it in _OF_A_CREATION if it in properties}

    def _wait(self, name: str, config: str) -> None:
        for _ in self._moments(name):
            endpoint = self._service.call("DescribeEndpoint", {"EndpointName": name})
            status, reason = endpoint["EndpointStatus"], endpoint.get("FailureReason")
            if status in ("Failed", "UpdateRollbackFailed"):
                raise ValueError(f"Endpoint {name} {status}: {reason}")
            if status == "InService":
                if reason and endpoint["EndpointConfigName"] != config:
                    raise ValueError(f"the update of endpoint {name} was rolled back: {reason}")
                return

    def _moments(self, name: str) -> Iterator[None]:
        """Yield from time to time, for as long as an endpoint may take to settle."""
        deadline = time.monotonic() + STABILIZE_SECONDS
        while time.monotonic() < deadline:
            yield
            time.sleep(0.1)
        raise TimeoutError(f"Endpoint {name} did not stabilize within {STABILIZE_SECONDS} s")


def resource_types(sagemaker: Service) -> dict[str, ResourceType]:
    """Return CloudFormation's type names with what handles them."""
    return {
        "AWS::SageMaker::Model": Model(sagemaker),
        "AWS::SageMaker::EndpointConfig": EndpointConfigResource(sagemaker),
        "AWS::SageMaker::Endpoint": Endpoint(sagemaker),
    }


def _generated_name(stack: str, logical_id: str) -> str:
    return f"{stack}-{logical_id}"[:50].lower() + f"-{uuid.uuid4().hex[:12]}"
