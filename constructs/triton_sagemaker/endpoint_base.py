"""What endpoints of this app and imported ones have in common."""

import re
from collections.abc import Sequence
from typing import Protocol

import jsii
from aws_cdk import ArnFormat, Resource, Stack, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk.interfaces.aws_sagemaker import EndpointReference
from constructs import Construct

from triton_sagemaker.endpoint_interface import ITritonEndpoint
from triton_sagemaker.endpoint_metrics import EndpointMetrics
from triton_sagemaker.model_bucket import PUBLISHED
from triton_sagemaker.variant import DEFAULT_VARIANT

ARN = re.compile(r"arn:[^:]+:sagemaker:[^:]+:[^:]+:endpoint/([^/]+)")
"""Service authorization reference, resource types of Amazon SageMaker AI."""


class _Meta(jsii.JSIIAbstractClass, type(Protocol)):  # type: ignore[misc]  # whose name is private
    """The metaclass of classes that inherit from jsii's and from a protocol's methods."""


@jsii.implements(sagemaker.IEndpoint)
class EndpointBase(Resource, EndpointMetrics, metaclass=_Meta):
    """An `ITritonEndpoint`.

    Of an imported endpoint, the first variant is taken to be called `AllTraffic`, as it is by
    default. `endpoint_arn` is made of the name, so that what uses it does not wait for the
    endpoint.
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
        if Token.is_unresolved(endpoint_arn):
            parts = Stack.of(scope).split_arn(endpoint_arn, ArnFormat.SLASH_RESOURCE_NAME)
            name = parts.resource_name
        else:
            match = ARN.fullmatch(endpoint_arn)
            name = match and match[1]
        if not name:
            raise ValueError(
                f'endpoint_arn: "{endpoint_arn}" is no endpoint: write '
                "arn:aws:sagemaker:REGION:ACCOUNT:endpoint/NAME"
            )
        return EndpointBase(scope, construct_id, endpoint_arn=endpoint_arn, endpoint_name=name)

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
            self._target_model(f"{folder}{model}-????????????.tar.gz")
            for model in models or ()
            for folder in ("", PUBLISHED)
        ]
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:InvokeEndpoint"],
            resource_arns=[self.endpoint_arn],
            conditions={"StringLike": {"sagemaker:TargetModel": archives}} if archives else None,
        )

    def _target_model(self, archive: str) -> str:
        return archive

    def _dimensions(self, variant: str | None) -> dict[str, str]:
        return {"EndpointName": self.endpoint_name, "VariantName": variant or DEFAULT_VARIANT}
