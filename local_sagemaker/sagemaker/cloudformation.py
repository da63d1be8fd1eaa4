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
        request = {**self.request(properties), f"{self.kind}Name": name}
        answer = self.call(f"Create{self.kind}", request)
        arn = answer[f"{self.kind}Arn"]
        return arn, self.attributes(arn, name)

    def update(self, physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
        """Only tags change in place."""
        before, after = ({tag["Key"]: tag for tag in each.get("Tags", [])} for each in (old, new))
        arn = {"ResourceArn": physical_id}
        if gone := before.keys() - after.keys():
            self.call("DeleteTags", {**arn, "TagKeys": list(gone)})
        self.call("AddTags", {**arn, "Tags": list(after.values())})
        return physical_id, self.attributes(physical_id, self.name(physical_id, new))

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

    def attributes(self, arn: str, name: str) -> Properties:
        """Return what Fn::GetAtt finds."""
        return {f"{self.kind}Name": name}


class ModelResource(HostingResource):
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


class DeployedResource(HostingResource):
    """A resource with a status, which CloudFormation waits for."""

    def create(self, logical_id: str, properties: Properties, stack: str) -> Created:
        """Create it and wait until it is InService.

        One that fails is deleted: the stack does not know it yet, and its name would be taken when
        the stack is deployed again. One that never settles stays, since it cannot be deleted.
        """
        physical_id, attributes = super().create(logical_id, properties, stack)
        try:
            self._in_service(self.name(physical_id, properties))
        except ValueError:
            self.delete(physical_id, properties)
            raise
        return physical_id, attributes

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Delete it and wait until it is gone."""
        super().delete(physical_id, properties)
        name = self.name(physical_id, properties)
        for _ in self._moments(name):
            if self._described(name) is None:
                return

    def _in_service(self, name: str) -> Properties:
        """Return its description once it is InService. Raise `ValueError` if it fails."""
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
        return self.call_if_found(f"Describe{self.kind}", {f"{self.kind}Name": name})

    def _moments(self, name: str) -> Iterator[None]:
        """Yield from time to time, for as long as it may take to settle."""
        deadline = time.monotonic() + STABILIZE_SECONDS
        while time.monotonic() < deadline:
            yield
            time.sleep(0.1)
        raise TimeoutError(f"{self.kind} {name} did not stabilize within {STABILIZE_SECONDS} s")


class EndpointResource(DeployedResource):
    """AWS::SageMaker::Endpoint: changed in place, unless it gets another name."""

    kind = "Endpoint"
    replacing = ("EndpointName",)

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
        if any(old.get(member) != new.get(member) for member in _OF_AN_UPDATE):
            request = {member: new[member] for member in _OF_AN_UPDATE if member in new}
            self.call("UpdateEndpoint", {**request, "EndpointName": name})
            endpoint = self._in_service(name)
            reason = endpoint.get("FailureReason")
            if reason and endpoint["EndpointConfigName"] != new["EndpointConfigName"]:
                raise ValueError(f"the update of endpoint {name} was rolled back: {reason}")
        return super().update(physical_id, old, new, stack)

    def request(self, properties: Properties) -> Properties:
        """What is said about retained properties is no matter of CreateEndpoint."""
        return {member: properties[member] for member in _OF_A_CREATION if member in properties}


_OF_A_COMPONENT = ("DeploymentConfig", "RuntimeConfig", "Specification")


class InferenceComponent(DeployedResource):
    """AWS::SageMaker::InferenceComponent: changed in place."""

    kind = "InferenceComponent"

    def update(self, physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
        """Update the component and wait until it is InService again.

        A CopyCount is set again, also where only the Specification has changed, and to what scaling
        has made of it: no source; a stack must bear it. Of what changes without interruption by the
        template reference, UpdateInferenceComponent has neither endpoint nor variant.
        """
        for fixed in ("EndpointName", "InferenceComponentName", "VariantName"):
            if old.get(fixed) != new.get(fixed):
                raise ValueError(
                    f"the local SageMaker does not change {fixed} of an inference component: use "
                    "another logical id"
                )
        name = self.name(physical_id, new)
        if any(old.get(member) != new.get(member) for member in _OF_A_COMPONENT):
            before = self._in_service(name)  # updates are refused while scaling changes the copies
            changed = {member: new[member] for member in _OF_A_COMPONENT if member in new}
            shape = self._service.input_shape("UpdateInferenceComponent")
            request = typed({**changed, "InferenceComponentName": name}, shape)
            self.call("UpdateInferenceComponent", request)
            after = self._in_service(name)
            reason = after.get("FailureReason")  # which stays when a later update succeeds
            kept = request["Specification"] != before["Specification"] == after["Specification"]
            if reason and (kept or reason != before.get("FailureReason")):
                raise ValueError(f"the update of {name} was rolled back: {reason}")
        return super().update(physical_id, old, new, stack)

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Delete it once no operation is in progress, and wait until it is gone.

        SageMaker refuses a deletion before; that CloudFormation waits has no source.
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
        """Return the properties of a creation: a DeploymentConfig is for updates."""
        return {name: part for name, part in properties.items() if name != "DeploymentConfig"}

    def attributes(self, arn: str, name: str) -> Properties:
        """Return what Fn::GetAtt finds: not the name (template reference, Return values).

        The status and the counts of copies, which change without the stack, are left out.
        """
        return {"InferenceComponentArn": arn}


def resource_types(sagemaker: Service) -> dict[str, ResourceType]:
    """Return CloudFormation's type names with what handles them."""
    return {
        "AWS::SageMaker::Model": ModelResource(sagemaker),
        "AWS::SageMaker::EndpointConfig": EndpointConfigResource(sagemaker),
        "AWS::SageMaker::Endpoint": EndpointResource(sagemaker),
        "AWS::SageMaker::InferenceComponent": InferenceComponent(sagemaker),
    }


def _generated_name(stack: str, logical_id: str) -> str:
    return f"{stack}-{logical_id}"[:50].lower() + f"-{uuid.uuid4().hex[:12]}"
