"""One model's archive, as a resource of the stack that serves it."""

from typing import Any

from aws_cdk import CustomResource, RemovalPolicy
from constructs import Construct


class BuiltModel(Construct):
    """The promise that an archive is in the bucket before anything that depends on it is deployed.

    CloudFormation sees a change only where a property changed, so only such a model is built; an
    archive that is there already is taken as it is, which makes a rollback free. Deleting the
    resource keeps the archive. Made by `ModelBuilder.build`.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        service_token: str,
        properties: dict[str, Any],
    ) -> None:
        super().__init__(scope, construct_id)
        self.resource = CustomResource(
            self,
            "Resource",
            properties=properties,
            removal_policy=RemovalPolicy.DESTROY,
            resource_type="Custom::TritonModel",
            service_token=service_token,
        )
