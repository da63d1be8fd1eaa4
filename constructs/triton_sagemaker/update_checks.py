"""Custom resources that check an endpoint before and after its update and deletion."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import CustomResource, Duration, Stack
from aws_cdk import aws_s3 as s3
from constructs import Construct

from triton_sagemaker.allow import allow
from triton_sagemaker.endpoint_component import EndpointComponent
from triton_sagemaker.handler_function import handler_function, polled_provider


@dataclass(frozen=True, kw_only=True)
class CheckedUpdates:
    """The checks of an endpoint's updates, and the catalog that they read.

    `catalog` is the SSM path of the endpoint's entries, such as `/triton/prod/text`; `archives` are
    the values of `target_model` in the entries after the update.
    """

    checks: "UpdateChecks"
    catalog: str
    archives: Sequence[str]


class UpdateChecks(Construct):
    """A read-only Lambda function that checks all endpoints with archives in `bucket`.

    The guard, before an update, fails the deployment for changes that SageMaker would reject midway
    or that would break clients:

    - a variant with registered scaling is removed or gets another instance type
    - the endpoint moves to another prefix, and an archive of the catalog (before or after the
      update) is missing in one of the two prefixes; clients may invoke it during the update and its
      rollback
    - the SHA-256 of an archive differs from its manifest
    - the hosting mode changes

    The check, after the update, fails unless the endpoint serves the deployed configuration:
    SageMaker does not report a rollback to CloudFormation. Both wait for operations in progress,
    such as scaling, before an update, a rollback and a deletion; after a deletion, the guard waits
    until the network interfaces are deleted.
    """

    def __init__(self, scope: Construct, construct_id: str, *, bucket: s3.IBucket) -> None:
        super().__init__(scope, construct_id)
        self.function = handler_function(
            self,
            "OnEvent",
            folder="update_handler",
            description="Guards and checks Triton endpoints; reads only",
            handler="handle",
            timeout=Duration.minutes(2),
        )
        self._allow_reads(bucket)
        self.provider = polled_provider(self, on_event=self.function, is_complete=self.function)
        self._service_token = self.provider.service_token

    def add_guard_and_check(
        self,
        scope: Construct,
        endpoint: Construct,
        *,
        endpoint_name: str,
        config_name: str,
        deployment: Any,
        updates: CheckedUpdates,
        security_group_id: str | None,
        components: Sequence[EndpointComponent] = (),
    ) -> tuple[Construct, Construct]:
        """Return the guard before an update of `endpoint` to `config_name`, and the check after it.

        The endpoint must depend on the guard; catalog entries and scaling must depend on the check.
        `deployment` is the endpoint's DeploymentConfig. `security_group_id` is required in a VPC;
        only network interfaces of this endpoint may be in the group.
        """
        properties: dict[str, Any] = {"Endpoint": endpoint_name, "ConfigName": config_name}
        if security_group_id:
            properties["SecurityGroup"] = security_group_id
        if components:
            names = {component.component_name: component.model_name for component in components}
            properties["Components"] = names
            self._allow_describe("sagemaker:DescribeInferenceComponent", "inference-component/*")
        guard = {"Archives": list(updates.archives), "Catalog": updates.catalog}
        resources = [component.resource for component in components]
        changing = deployment or [resource.specification for resource in resources]
        before = self._resource(scope, "Guard", {**properties, **guard, "Deployment": changing})
        after = self._resource(scope, "Check", properties)
        after.node.add_dependency(endpoint, *resources)
        return before, after

    def _resource(self, scope: Construct, kind: str, properties: dict[str, Any]) -> Construct:
        return CustomResource(
            scope,
            kind,
            properties=properties,
            resource_type=f"Custom::TritonUpdate{kind}",
            service_token=self._service_token,
        )

    def _allow_reads(self, bucket: s3.IBucket) -> None:
        role = self.function.role
        assert role
        for action, resource in (
            ("sagemaker:DescribeEndpoint", "endpoint/*"),
            ("sagemaker:DescribeEndpointConfig", "endpoint-config/*"),
            ("sagemaker:DescribeModel", "model/*"),
            ("cloudformation:DescribeStacks", "stack/*"),
            ("ssm:GetParametersByPath", "parameter/triton/*"),
        ):
            self._allow_describe(action, resource)
        allow(role, ["s3:ListBucket"], [bucket.bucket_arn])
        objects = [bucket.arn_for_objects(kind) for kind in ("*.json", "*.tar.gz")]
        allow(role, ["s3:GetObject"], objects, "Archives and manifests are named by their content.")
        if key := bucket.encryption_key:
            key.grant_decrypt(role)
        reason = "Both Describe calls support no resources (service authorization reference)."
        actions = "application-autoscaling:DescribeScalableTargets", "ec2:DescribeNetworkInterfaces"
        allow(role, actions, ["*"], reason)

    def _allow_describe(self, action: str, resource: str) -> None:
        role, stack = self.function.role, Stack.of(self)
        assert role
        service, place = action.split(":")[0], f"{stack.region}:{stack.account}"
        arn = f"arn:{stack.partition}:{service}:{place}:{resource}"
        reason = "The checks read what any endpoint serves; CloudFormation names its resources."
        allow(role, [action], [arn], reason)
