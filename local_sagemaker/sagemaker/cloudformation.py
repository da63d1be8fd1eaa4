"""CloudFormation resource types of SageMaker hosting."""

import time
import uuid
from collections.abc import Iterator
from typing import Any, ClassVar

from local_sagemaker.cloudformation import Created, ResourceType, Service, convert_types

STABILIZE_SECONDS = 9 * 3600
"""Timeout until a resource is stable: more than the maximum of MaximumExecutionTimeoutInSeconds,
8 hours."""

Properties = dict[str, Any]


class HostingResource(ResourceType):
    """A resource with a name in SageMaker, and its ARN as the physical id."""

    kind: ClassVar[str]

    def create(self, logical_id: str, properties: Properties, stack: str) -> Created:
        """Create the resource; without a name in the template, one is generated."""
        name = properties.get(f"{self.kind}Name") or _generated_name(stack, logical_id)
        request = {**self.request(properties), f"{self.kind}Name": name}
        response = self.call(f"Create{self.kind}", request)
        arn = response[f"{self.kind}Arn"]
        return arn, self.attributes(arn, name)

    def update(self, physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
        """Update the tags; other properties are not updated in place."""
        old_keys, new_keys = (
            {tag["Key"] for tag in properties.get("Tags", [])} for properties in (old, new)
        )
        arn = {"ResourceArn": physical_id}
        if removed_keys := old_keys - new_keys:
            self.call("DeleteTags", {**arn, "TagKeys": list(removed_keys)})
        self.call("AddTags", {**arn, "Tags": new.get("Tags", [])})
        return physical_id, self.attributes(physical_id, self.name(physical_id, new))

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Delete the resource, if it exists."""
        request = {f"{self.kind}Name": self.name(physical_id, properties)}
        self.call_if_exists(f"Delete{self.kind}", request)

    def name(self, physical_id: str, properties: Properties) -> str:
        """Return the resource's name: from the template, or the generated name in the ARN."""
        return str(properties.get(f"{self.kind}Name") or physical_id.rpartition("/")[2])

    def request(self, properties: Properties) -> Properties:
        """Return the request of the Create operation for the properties."""
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


_CREATION_MEMBERS = ("DeploymentConfig", "EndpointConfigName", "Tags")
_UPDATE_MEMBERS = (
    "DeploymentConfig", "EndpointConfigName", "ExcludeRetainedVariantProperties",
    "RetainAllVariantProperties", "RetainDeploymentConfig",
)  # fmt: skip


class DeployedResource(HostingResource):
    """A resource with a status that CloudFormation waits for."""

    def create(self, logical_id: str, properties: Properties, stack: str) -> Created:
        """Create the resource and wait until it is InService.

        A failed resource is deleted: the stack does not contain it yet, and its name would conflict
        with the next deployment. After a timeout it remains, because it cannot be deleted.
        """
        physical_id, attributes = super().create(logical_id, properties, stack)
        try:
            self._wait_until_in_service(self.name(physical_id, properties))
        except ValueError:
            self.delete(physical_id, properties)
            raise
        return physical_id, attributes

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Delete the resource and wait until it no longer exists."""
        super().delete(physical_id, properties)
        name = self.name(physical_id, properties)
        for _ in self._poll(name):
            if self._describe_if_exists(name) is None:
                return

    def _wait_until_in_service(self, name: str) -> Properties:
        """Wait until the resource is InService, and return its description.

        Raise `ValueError` if it fails, and `TimeoutError`.
        """
        for _ in self._poll(name):
            description = self.call(f"Describe{self.kind}", {f"{self.kind}Name": name})
            status = description[f"{self.kind}Status"]
            if status in ("Failed", "UpdateRollbackFailed"):
                reason = description.get("FailureReason")
                raise ValueError(f"{self.kind} {name} {status}: {reason}")
            if status == "InService":
                return description
        raise AssertionError("_poll raises an error at the end")

    def _describe_if_exists(self, name: str) -> Properties | None:
        return self.call_if_exists(f"Describe{self.kind}", {f"{self.kind}Name": name})

    def _poll(self, name: str) -> Iterator[None]:
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

        If only the DeploymentConfig has changed, the endpoint is updated to its current
        configuration.
        CloudFormation's behaviour has no source; Terraform's provider does so
        (hashicorp/terraform-provider-aws, internal/service/sagemaker/endpoint.go,
        resourceEndpointUpdate).

        A rolled back update fails if the endpoint has a FailureReason. A rollback by alarms leaves
        no FailureReason: Terraform's provider considered it a success, and deleted the serving
        configuration (hashicorp/terraform-provider-aws#48997). CloudFormation's behaviour has no
        source; here too it is a success, so that a stack's handling of this case can be tested.
        """
        name = self.name(physical_id, new)
        if any(old.get(member) != new.get(member) for member in _UPDATE_MEMBERS):
            request = {member: new[member] for member in _UPDATE_MEMBERS if member in new}
            self.call("UpdateEndpoint", {**request, "EndpointName": name})
            endpoint = self._wait_until_in_service(name)
            reason = endpoint.get("FailureReason")
            if reason and endpoint["EndpointConfigName"] != new["EndpointConfigName"]:
                raise ValueError(f"the update of endpoint {name} was rolled back: {reason}")
        return super().update(physical_id, old, new, stack)

    def request(self, properties: Properties) -> Properties:
        """Return a CreateEndpoint request, without members that only UpdateEndpoint has."""
        return {member: properties[member] for member in _CREATION_MEMBERS if member in properties}


_COMPONENT_MEMBERS = ("DeploymentConfig", "RuntimeConfig", "Specification")


class InferenceComponentResource(DeployedResource):
    """AWS::SageMaker::InferenceComponent: updated in place."""

    kind = "InferenceComponent"

    def update(self, physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
        """Update the component and wait until it is InService again.

        The update sets the template's CopyCount even if only the Specification has changed, which
        resets the count of a scaled component (no source; a stack must handle this case). Endpoint
        and variant cannot change, because UpdateInferenceComponent has no members for them.
        """
        for member in ("EndpointName", "InferenceComponentName", "VariantName"):
            if old.get(member) != new.get(member):
                raise ValueError(
                    f"the local SageMaker does not change {member} of an inference component: use "
                    "another logical id"
                )
        name = self.name(physical_id, new)
        if any(old.get(member) != new.get(member) for member in _COMPONENT_MEMBERS):
            old_description = self._wait_until_in_service(name)  # scaling would reject the update
            changes = {member: new[member] for member in _COMPONENT_MEMBERS if member in new}
            shape = self._service.input_shape("UpdateInferenceComponent")
            request = convert_types({**changes, "InferenceComponentName": name}, shape)
            self.call("UpdateInferenceComponent", request)
            description = self._wait_until_in_service(name)
            old_specification = old_description["Specification"]
            is_unchanged = description["Specification"] == old_specification
            was_not_applied = is_unchanged and request["Specification"] != old_specification
            # The FailureReason of an earlier update remains after a successful update.
            reason = description.get("FailureReason")
            is_new_reason = reason != old_description.get("FailureReason")
            if reason and (was_not_applied or is_new_reason):
                raise ValueError(f"the update of {name} was rolled back: {reason}")
        return super().update(physical_id, old, new, stack)

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Wait until no operation is in progress, delete the component, and wait for its end.

        SageMaker rejects the deletion during an operation; that CloudFormation waits has no source.
        """
        name = self.name(physical_id, properties)
        for _ in self._poll(name):
            description = self._describe_if_exists(name)
            if description is None or description["InferenceComponentStatus"] in (
                "InService",
                "Failed",
            ):
                break
        super().delete(physical_id, properties)

    def request(self, properties: Properties) -> Properties:
        """Return a CreateInferenceComponent request, without the DeploymentConfig of updates."""
        return {name: value for name, value in properties.items() if name != "DeploymentConfig"}

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
        "AWS::SageMaker::InferenceComponent": InferenceComponentResource(sagemaker),
    }


def _generated_name(stack: str, logical_id: str) -> str:
    return f"{stack}-{logical_id}"[:50].lower() + f"-{uuid.uuid4().hex[:12]}"
