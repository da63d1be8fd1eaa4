"""Custom resources that check the update and the deletion of an endpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import CustomResource, Duration
from aws_cdk import aws_s3 as s3
from constructs import Construct

from platform_facts.rules.catalog import INDEX, table_name
from triton_sagemaker.allow import StackArns, allow
from triton_sagemaker.endpoint_component import EndpointComponent
from triton_sagemaker.handler_function import LISTS_MB, handler_function, polled_provider
from triton_sagemaker.list_asset import LISTS_REASON
from triton_sagemaker.model_catalog import ModelCatalog


@dataclass(frozen=True, kw_only=True)
class EndpointUpdateChecks:
    """The checks of an endpoint's updates, and the endpoint's catalog after the update."""

    checks: "UpdateChecks"
    catalog: ModelCatalog


class UpdateChecks(Construct):
    """A read-only Lambda function that checks updates of all endpoints with archives in `bucket`.

    Before an update, the guard rejects changes that SageMaker would reject during the update, or
    that would make requests fail:

    - a variant that is registered for scaling is removed or gets another instance type;
    - the endpoint changes its prefix, and one of the two prefixes lacks an archive that the catalog
      lists before or after the update, unless `ModelCatalog` keeps the earlier entry;
    - an archive is newer than its manifest, which builders write last, and does not have its
      SHA-256;
    - the hosting mode changes.

    After an update, the check fails unless the endpoint serves with the deployed configuration,
    because SageMaker can roll an update back while CloudFormation reports success. Before updates,
    rollbacks and deletions, the function waits for operations in progress, such as scaling; after a
    deletion, until the network interfaces are deleted.

    `stacks` is a pattern of the names of the stacks that contain the endpoints. `lists` is a
    pattern of the ARNs of catalogs' lists; by default, the function may read those of its own app.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket: s3.IBucket,
        stacks: str = "*",
        lists: str | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._lists = lists
        self.function = handler_function(
            self,
            "OnEvent",
            folder="update_handler",
            description="Guards and checks Triton endpoints; reads only",
            handler="handle",
            memory_mb=LISTS_MB,
            timeout=Duration.minutes(2),
        )
        self._arns = StackArns(self)
        self._allow_reads(bucket, stacks)
        self.provider = polled_provider(self, on_event=self.function, is_complete=self.function)
        self._service_token = self.provider.service_token

    def add_guard_and_check(
        self,
        scope: Construct,
        endpoint: Construct,
        *,
        endpoint_name: str,
        config_name: str,
        deployment_config: Any,
        catalog: ModelCatalog,
        security_group_id: str | None,
        components: Sequence[EndpointComponent] = (),
    ) -> tuple[Construct, Construct]:
        """Return a guard before the update of `endpoint` to `config_name`, and a check after it.

        The endpoint must depend on the guard; catalog entries and scaling must depend on the check.
        For an endpoint in a VPC, `security_group_id` is a group of its network interfaces only.
        """
        properties: dict[str, Any] = {"Endpoint": endpoint_name, "ConfigName": config_name}
        if security_group_id:
            properties["SecurityGroup"] = security_group_id
        if components:
            properties["Components"] = {
                component.component_name: component.model_name for component in components
            }
            self._allow_describe("sagemaker:DescribeInferenceComponent", "inference-component/*")
        resources = [component.resource for component in components]
        updates = [[resource.specification, resource.deployment_config] for resource in resources]
        guard_properties = {
            **properties,
            **catalog.properties,
            "Catalog": catalog.name,
            "Deployment": deployment_config or updates,
        }
        if self._lists is None:
            catalog.entries.grant_read(self.function)
        guard = self._create_resource(scope, "Guard", guard_properties)
        check = self._create_resource(scope, "Check", properties)
        check.node.add_dependency(endpoint, *resources)
        return guard, check

    def _create_resource(
        self, scope: Construct, kind: str, properties: dict[str, Any]
    ) -> CustomResource:
        return CustomResource(
            scope,
            kind,
            properties=properties,
            resource_type=f"Custom::TritonUpdate{kind}",
            service_token=self._service_token,
        )

    def _allow_reads(self, bucket: s3.IBucket, stacks: str) -> None:
        role = self.function.role
        assert role
        for action, resource in (
            ("sagemaker:DescribeEndpoint", "endpoint/*"),
            ("sagemaker:DescribeEndpointConfig", "endpoint-config/*"),
            ("sagemaker:DescribeModel", "model/*"),
            ("cloudformation:DescribeStacks", f"stack/{stacks}/*"),
            ("dynamodb:Query", f"table/{table_name('*')}/index/{INDEX}"),
        ):
            self._allow_describe(action, resource)
        allow(role, ["s3:ListBucket"], [bucket.bucket_arn])
        if self._lists:
            allow(role, ["s3:GetObject"], [self._lists], LISTS_REASON)
        objects = [bucket.arn_for_objects(pattern) for pattern in ("*.json", "*.tar.gz")]
        allow(role, ["s3:GetObject"], objects, "Archives and manifests are named by their content.")
        if key := bucket.encryption_key:
            key.grant_decrypt(role)
        reason = "Both Describe calls support no resources (service authorization reference)."
        actions = "application-autoscaling:DescribeScalableTargets", "ec2:DescribeNetworkInterfaces"
        allow(role, actions, ["*"], reason)

    def _allow_describe(self, action: str, resource: str) -> None:
        assert self.function.role
        arn = self._arns.arn(action.split(":")[0], resource)
        reason = "The checks read the state of any endpoint; CloudFormation names its resources."
        allow(self.function.role, [action], [arn], reason)
