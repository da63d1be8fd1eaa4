"""CloudFormation resource types of SageMaker hosting."""

import time
import uuid
from collections.abc import Iterator
from typing import Any, ClassVar

from local_sagemaker.cloudformation import Created, ResourceType, Service, convert_types

STABILIZE_SECONDS = 9 * 3600
"""Timeout of stabilization: above the maximum of MaximumExecutionTimeoutInSeconds, 8 hours."""

Properties = dict[str, Any]


class HostingResource(ResourceType):
    """A resource with a name in SageMaker, and its ARN as the physical id."""

    kind: ClassVar[str]

    def create(self, logical_id: str, properties: Properties, stack: str) -> Created:
        """Create the resource; without a name in the template, one is generated."""
        name = properties.get(f"{self.kind}Name") or _generated_name(stack, logical_id)
        request = {**self.request(properties), f"{self.kind}Name": name}
        answer = self.call(f"Create{self.kind}", request)
        arn = answer[f"{self.kind}Arn"]
        return arn, self.attributes(arn, name)

    def update(self, physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
        """Update the tags; other properties are not updated in place."""
        before, after = (
            {tag["Key"]: tag for tag in properties.get("Tags", [])} for properties in (old, new)
        )
        arn = {"ResourceArn": physical_id}
        if gone := before.keys() - after.keys():
            self.call("DeleteTags", {**arn, "TagKeys": list(gone)})
        self.call("AddTags", {**arn, "Tags": list(after.values())})
        return physical_id, self.attributes(physical_id, self.name(physical_id, new))

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Delete the resource, if it exists."""
        request = {f"{self.kind}Name": self.name(physical_id, properties)}
        self.call_if_exists(f"Delete{self.kind}", request)

    def name(self, physical_id: str, properties: Properties) -> str:
        """Return the resource's name; ARNs are in lower case, and generated names too."""
        return str(properties.get(f"{self.kind}Name") or physical_id.rpartition("/")[2])

    def request(self, properties: Properties) -> Properties:
        """Return the Create operation's request for the properties."""
        return properties

    def attributes(self, arn: str, name: str) -> Properties:
        """Return the attributes for Fn::GetAtt."""
        return {f"{self.kind}Name": name}


class ModelResource(HostingResource):
    """AWS::SageMaker::Model: a change of any property except Tags replaces it."""

    kind = "Model"
    replacing = (
        "Containers", "EnableNetworkIsolation", "ExecutionRoleArn", "InferenceExecutionConfig",
        "ModelName", "PrimaryContainer", "VpcConfig",
    )  # fmt: skip


class EndpointConfigResource(HostingResource):
    """AWS::SageMaker::EndpointConfig: a change of any property except Tags replaces it."""

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


class DeployedResource(HostingResource):
    """A resource with a status that CloudFormation waits for."""

    def create(self, logical_id: str, properties: Properties, stack: str) -> Created:
        """Create the resource and wait until it is InService.

        A failed one is deleted: the stack does not contain it yet, and its name would conflict with
        the next deployment. After a timeout it remains, because it cannot be deleted.
        """
        physical_id, attributes = super().create(logical_id, properties, stack)
        try:
            self._in_service(self.name(physical_id, properties))
        except ValueError:
            self.delete(physical_id, properties)
            raise
        return physical_id, attributes

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Delete the resource and wait until it does not exist any more."""
        super().delete(physical_id, properties)
        name = self.name(physical_id, properties)
        for _ in self._moments(name):
            if self._described(name) is None:
                return

    def _in_service(self, name: str) -> Properties:
        """Wait until it is InService; return its description. Raise `ValueError` if it fails."""
        for _ in self._moments(name):
            described = self.call(f"Describe{self.kind}", {f"{self.kind}Name": name})
            status = described[f"{self.kind}Status"]
            if status in ("Failed", "UpdateRollbackFailed"):
                reason = described.get("FailureReason")
                raise ValueError(f"{self.kind} {name} {status}: {reason}")
            if status == "InService":
                return described
        raise AssertionError("_moments ends with an error")

    def _described(self, name: str) -> Properties | None:
        return self.call_if_exists(f"Describe{self.kind}", {f"{self.kind}Name": name})

    def _moments(self, name: str) -> Iterator[None]:
        """Yield at each poll. Raise `TimeoutError` after `STABILIZE_SECONDS`."""
        deadline = time.monotonic() + STABILIZE_SECONDS
        while time.monotonic() < deadline:
            yield
            time.sleep(0.1)
        raise TimeoutError(f"{self.kind} {name} did not stabilize within {STABILIZE_SECONDS} s")


class EndpointResource(DeployedResource):
    """AWS::SageMaker::Endpoint: updated in place, unless EndpointName changes."""

    kind = "Endpoint"
    replacing = ("EndpointName",)

    def update(self, physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
        """Update the endpoint and wait until it is InService again.

        If only the DeploymentConfig has changed, the endpoint is updated to its own configuration.
        CloudFormation's behaviour has no source; Terraform's provider does so
        (hashicorp/terraform-provider-aws, internal/service/sagemaker/endpoint.go,
        resourceEndpointUpdate).

        A rolled back update fails if the endpoint has a FailureReason. A rollback by alarms leaves
        no FailureReason: Terraform's provider considered it a success, and deleted the serving
        configuration (hashicorp/terraform-provider-aws#48997). CloudFormation's behaviour has no
        source; it is the same here, so that a stack's handling of this case can be tested.
        """
        name = self.name(physical_id, new)
        if any(old.get(member) != new.get(member) for member in _OF_AN_UPDATE):
            request = {member: new[member] for member in _OF_AN_UPDATE if member in new}
            self.call("UpdateEndpoint", {**request, "EndpointName": name})
            endpoint = self._in_service(name)
            reason = endpoint.get("FailureReason")
            if reason and endpoint["EndpointConfigName"] != new["EndpointConfigName"]:
                raise ValueError(f"the update of endpoint {name} was rolled back: {reason}")
        return super().update(physical_id, old, new, stack)

    def request(self, properties: Properties) -> Properties:
        """Return a CreateEndpoint request, without the members of UpdateEndpoint only."""
        return {member: properties[member] for member in _OF_A_CREATION if member in properties}


_OF_A_COMPONENT = ("DeploymentConfig", "RuntimeConfig", "Specification")


class InferenceComponent(DeployedResource):
    """AWS::SageMaker::InferenceComponent: updated in place."""

    kind = "InferenceComponent"

    def update(self, physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
        """Update the component and wait until it is InService again.

        The template's CopyCount is set again, which resets the count of a scaled component, even if
        only the Specification has changed (no source; a stack must handle it). Endpoint and variant
        cannot change, because UpdateInferenceComponent has no members for them.
        """
        for fixed in ("EndpointName", "InferenceComponentName", "VariantName"):
            if old.get(fixed) != new.get(fixed):
                raise ValueError(
                    f"the local SageMaker does not change {fixed} of an inference component: use "
                    "another logical id"
                )
        name = self.name(physical_id, new)
        if any(old.get(member) != new.get(member) for member in _OF_A_COMPONENT):
            before = self._in_service(name)  # updates are rejected during scaling
            changed = {member: new[member] for member in _OF_A_COMPONENT if member in new}
            shape = self._service.input_shape("UpdateInferenceComponent")
            request = convert_types({**changed, "InferenceComponentName": name}, shape)
            self.call("UpdateInferenceComponent", request)
            after = self._in_service(name)
            reason = after.get("FailureReason")  # also remains after a successful update
            kept = request["Specification"] != before["Specification"] == after["Specification"]
            if reason and (kept or reason != before.get("FailureReason")):
                raise ValueError(f"the update of {name} was rolled back: {reason}")
        return super().update(physical_id, old, new, stack)

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Wait until no operation is in progress, delete the component, and wait for its end.

        SageMaker rejects the deletion during an operation; that CloudFormation waits has no source.
        """
        name = self.name(physical_id, properties)
        for _ in self._moments(name):
            described = self._described(name)
            if described is None or described["InferenceComponentStatus"] in (
                "InService",
                "Failed",
            ):
                break
        super().delete(physical_id, properties)

    def request(self, properties: Properties) -> Properties:
        """Return a CreateInferenceComponent request, without the DeploymentConfig of updates."""
        return {name: part for name, part in properties.items() if name != "DeploymentConfig"}

    def attributes(self, arn: str, name: str) -> Properties:
        """Return the attributes for Fn::GetAtt, without the name (template reference).

        Status and counts of copies are omitted: they change without the stack.
        """
        return {"InferenceComponentArn": arn}


def resource_types(sagemaker: Service) -> dict[str, ResourceType]:
    """Return the resource types by CloudFormation's type name."""
    return {
        "AWS::SageMaker::Model": ModelResource(sagemaker),
        "AWS::SageMaker::EndpointConfig": EndpointConfigResource(sagemaker),
        "AWS::SageMaker::Endpoint": EndpointResource(sagemaker),
        "AWS::SageMaker::InferenceComponent": InferenceComponent(sagemaker),
    }


def _generated_name(stack: str, logical_id: str) -> str:
    return f"{stack}-{logical_id}"[:50].lower() + f"-{uuid.uuid4().hex[:12]}"
