"""The interface of an endpoint, and what endpoints of this app and imported ones have in common."""

from collections.abc import Sequence
from typing import Protocol

import jsii
from aws_cdk import ArnFormat, Resource, Stack, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk.interfaces.aws_sagemaker import EndpointReference
from constructs import Construct

from triton_sagemaker.model_bucket import PUBLISHED


class ITritonEndpoint(sagemaker.IEndpoint, Protocol):
    """An endpoint that `TritonEndpoint` made, here or in another app.

    It is a `sagemaker.IEndpoint` of the CDK's, which API Gateway's `SagemakerIntegration` takes.
    """

    def grant_invoke(
        self, grantee: iam.IGrantable, *, models: Sequence[str] | None = None
    ) -> iam.Grant:
        """Allow `grantee` to invoke the endpoint.

        `models` narrows it to versions of these models, delivered or published, by the condition
        key `sagemaker:TargetModel`: an archive is called `<model>-<version>.tar.gz`. Raises
        `ValueError` where the hosting is known and has no `TargetModel`.
        """
        ...


@jsii.implements(sagemaker.IEndpoint)
class EndpointBase(Resource):
    """An `ITritonEndpoint`.

    `endpoint_arn` is made of the name, so that what uses it does not wait for the endpoint.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        endpoint_arn: str | None = None,
    ) -> None:
        super().__init__(
            scope, construct_id, environment_from_arn=endpoint_arn, physical_name=endpoint_name
        )
        self._endpoint_name = endpoint_name
        self._stack = Stack.of(self)
        self._endpoint_arn = endpoint_arn or self._stack.format_arn(
            service="sagemaker", resource="endpoint", resource_name=endpoint_name
        )

    @staticmethod
    def from_endpoint_name(
        scope: Construct, construct_id: str, endpoint_name: str
    ) -> ITritonEndpoint:
        """Return the endpoint of that name in the account and region of the stack."""
        return EndpointBase(scope, construct_id, endpoint_name=endpoint_name)

    @staticmethod
    def from_endpoint_arn(
        scope: Construct, construct_id: str, endpoint_arn: str
    ) -> ITritonEndpoint:
        """Return the endpoint of that ARN, in whatever account and region.

        Its name is written as in the ARN: the case "must be matched in InvokeEndpoint" (API
        reference, CreateEndpoint). Raises `ValueError` for the ARN of anything else.
        """
        parts = Stack.of(scope).split_arn(endpoint_arn, ArnFormat.SLASH_RESOURCE_NAME)
        is_endpoint = (parts.service, parts.resource) == ("sagemaker", "endpoint")
        if not (is_endpoint or Token.is_unresolved(endpoint_arn)) or not parts.resource_name:
            raise ValueError(
                f'endpoint_arn: "{endpoint_arn}" is no endpoint: write '
                "arn:aws:sagemaker:REGION:ACCOUNT:endpoint/NAME"
            )
        return EndpointBase(
            scope, construct_id, endpoint_arn=endpoint_arn, endpoint_name=parts.resource_name
        )

    @property
    @jsii.member(jsii_name="endpointName")
    def endpoint_name(self) -> str:
        """The physical name."""
        return self._endpoint_name

    @property
    @jsii.member(jsii_name="endpointArn")
    def endpoint_arn(self) -> str:
        """The ARN."""
        return self._endpoint_arn

    @property
    @jsii.member(jsii_name="endpointRef")
    def endpoint_ref(self) -> EndpointReference:
        """The ARN, as the CDK's generated resources take it."""
        return EndpointReference(endpoint_arn=self.endpoint_arn)

    @jsii.member(jsii_name="grantInvoke")
    def grant_invoke(
        self, grantee: iam.IGrantable, *, models: Sequence[str] | None = None
    ) -> iam.Grant:
        """Allow `grantee` to invoke the endpoint: see `ITritonEndpoint`."""
        archives = [
            f"{folder}{model}-????????????.tar.gz"
            for model in models or ()
            for folder in ("", PUBLISHED)
        ]
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:InvokeEndpoint"],
            resource_arns=[self.endpoint_arn],
            conditions={"StringLike": {"sagemaker:TargetModel": archives}} if archives else None,
        )
