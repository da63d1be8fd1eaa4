"""What any endpoint offers, wherever it was made."""

import re
from collections.abc import Sequence

import jsii
from aws_cdk import ArnFormat, Resource, Stack, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk.interfaces.aws_sagemaker import EndpointReference
from constructs import Construct

from triton_sagemaker.argument_types import typed
from triton_sagemaker.endpoint_metrics import EndpointMetrics
from triton_sagemaker.model_bucket import PUBLISHED

DEFAULT_VARIANT = "AllTraffic"
ARN = re.compile(r"arn:[^:]+:sagemaker:[^:]+:[^:]+:endpoint/([^/]+)")
"""Service authorization reference, resource types of Amazon SageMaker AI."""


@jsii.implements(sagemaker.IEndpoint)
@typed
class ITritonEndpoint(EndpointMetrics, Resource):
    """An endpoint that `TritonEndpoint` made, here or in another app.

    It is a `sagemaker.IEndpoint` of the CDK's, which API Gateway's `SagemakerIntegration` takes.
    Of an imported one, the first variant is taken to be called `AllTraffic`, as it is by default.
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
        self._endpoint_arn = endpoint_arn or Stack.of(self).format_arn(
            service="sagemaker", resource="endpoint", resource_name=endpoint_name
        )

    @staticmethod
    def from_endpoint_name(
        scope: Construct, construct_id: str, endpoint_name: str
    ) -> "ITritonEndpoint":
        """Return the endpoint of that name in the account and region of the stack."""
        return ITritonEndpoint(scope, construct_id, endpoint_name=endpoint_name)

    @staticmethod
    def from_endpoint_arn(
        scope: Construct, construct_id: str, endpoint_arn: str
    ) -> "ITritonEndpoint":
        """Return the endpoint of that ARN, in whatever account and region.

        Its name is written as in the ARN: the case "must be matched in InvokeEndpoint" (API
        reference, CreateEndpoint). Raises `ValueError` for the ARN of anything else.
        """
        if Token.is_unresolved(endpoint_arn):
            parts = Stack.of(scope).split_arn(endpoint_arn, ArnFormat.SLASH_RESOURCE_NAME)
            name = parts.resource_name
        else:
            found = ARN.fullmatch(endpoint_arn)
            name = found and found[1]
        if not name:
            raise ValueError(
                f'endpoint_arn: "{endpoint_arn}" is no endpoint: write '
                "arn:aws:sagemaker:REGION:ACCOUNT:endpoint/NAME"
            )
        return ITritonEndpoint(scope, construct_id, endpoint_arn=endpoint_arn, endpoint_name=name)

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
        """Allow `grantee` to invoke the endpoint.

        `models` narrows it to versions of these models, delivered or published, by the condition
        key `sagemaker:TargetModel`: an archive is called `<model>-<version>.tar.gz`. Raises
        `InvalidEndpoint` where the hosting is known and has no `TargetModel`.
        """
        archives = [
            self._target_model(f"{place}{model}-????????????.tar.gz")
            for model in models or ()
            for place in ("", PUBLISHED)
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
