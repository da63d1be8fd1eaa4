"""A custom resource that writes the catalog entries of an endpoint's models."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import CustomResource, Duration
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from platform_facts.rules.catalog import INDEX, table_name
from triton_sagemaker.allow import StackArns, allow
from triton_sagemaker.handler_function import handler_function, provider
from triton_sagemaker.list_asset import LISTS_REASON, ListAsset


class CatalogWriter(Construct):
    """A Lambda function that writes lists of models into the catalog of a stage.

    It writes the entries that differ from the list of the last deploy, and removes models that left
    the list, unless they were published in the meantime. In a rollback by CloudFormation, it
    restores the entries that the deploy has replaced.

    `lists` is a pattern of the ARNs of lists; by default, the function may read the lists of its
    own app. `stacks` is a pattern of the names of the stacks that contain the endpoints. `bucket`
    has the archives: an entry of `ModelCatalog` may depend on whether its archive exists.
    `encryption_key` is the key of the table.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: str,
        lists: str | None = None,
        stacks: str = "*",
        bucket: s3.IBucket | None = None,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.table_name, self._lists = table_name(stage), lists
        self.function = handler_function(
            self,
            "OnEvent",
            folder="catalog_handler",
            description="Writes catalog entries of Triton models",
            handler="handle",
            memory_mb=1024,  # so that 32 threads have half a CPU
            timeout=Duration.minutes(15),
        )
        role, arns = self.function.role, StackArns(self)
        assert role
        table = arns.arn("dynamodb", f"table/{self.table_name}")
        allow(role, ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"], [table])
        allow(role, ["dynamodb:Query"], [f"{table}/index/{INDEX}"])
        stack = arns.arn("cloudformation", f"stack/{stacks}/*")
        reason = "CloudFormation appends a random number to the names of stacks."
        allow(role, ["cloudformation:DescribeStacks"], [stack], reason)
        if lists:
            allow(role, ["s3:GetObject"], [lists], LISTS_REASON)
        if bucket:
            allow(role, ["s3:ListBucket"], [bucket.bucket_arn])
        if encryption_key:
            encryption_key.grant_decrypt(role)  # at the request of DynamoDB
        self._service_token = provider(self, on_event=self.function).service_token

    def allow_list(self, entries: ListAsset) -> None:
        """Allow the function to read a list, unless it is among `lists`."""
        if self._lists is None:
            entries.grant_read(self.function)

    def write(
        self, scope: Construct, construct_id: str, properties: Mapping[str, Any]
    ) -> CustomResource:
        """Return a custom resource that writes the entries of an endpoint's models.

        `properties` are those of the endpoint's `ModelCatalog`.
        """
        return CustomResource(
            scope,
            construct_id,
            resource_type="Custom::TritonCatalog",
            service_token=self._service_token,
            properties={"Table": self.table_name, **properties},
        )
