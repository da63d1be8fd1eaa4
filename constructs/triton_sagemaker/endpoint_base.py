"""The interface of an endpoint, for endpoints of this app and for imported ones."""

import re
from collections.abc import Sequence

import jsii
from aws_cdk import Resource, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk.interfaces.aws_sagemaker import EndpointReference
from constructs import Construct

from triton_sagemaker.model_bucket import PUBLISHED


def validate_model_names(models: Sequence[str] | None) -> Sequence[str] | None:
    """Return the names, or None for all. Raise `ValueError` if empty, or if one is a pattern."""
    if models is not None and not models:
        raise ValueError("models: is empty: name the models, or leave it out to grant all")
    for model in models or ():
        if not re.fullmatch("[A-Za-z0-9_-]+", model):
            raise ValueError(f"models: {model!r} is not the name of a model: write no pattern")
    return models


@jsii.implements(sagemaker.IEndpoint)
class EndpointBase(Resource):
    """An endpoint in the account and region of the stack; it may be defined by another app.

    `endpoint_arn` is built from the name: resources that use it do not wait for the endpoint. The
    class implements `aws_sagemaker.IEndpoint`, for example for `SagemakerIntegration` of API
    Gateway.
    """

    def __init__(self, scope: Construct, construct_id: str, *, endpoint_name: str) -> None:
        super().__init__(scope, construct_id, physical_name=endpoint_name)
        self._endpoint_name = endpoint_name
        self._stack = Stack.of(self)
        self._endpoint_arn = self._stack.format_arn(
            service="sagemaker", resource="endpoint", resource_name=endpoint_name
        )

    @staticmethod
    def from_endpoint_name(
        scope: Construct, construct_id: str, endpoint_name: str
    ) -> "EndpointBase":
        """Import an existing endpoint by its physical name; no resource is created."""
        return EndpointBase(scope, construct_id, endpoint_name=endpoint_name)

    @property
    @jsii.member(jsii_name="endpointName")
    def endpoint_name(self) -> str:
        """The physical name of the endpoint."""
        return self._endpoint_name

    @property
    @jsii.member(jsii_name="endpointArn")
    def endpoint_arn(self) -> str:
        """The ARN of the endpoint."""
        return self._endpoint_arn

    @property
    @jsii.member(jsii_name="endpointRef")
    def endpoint_ref(self) -> EndpointReference:
        """The reference for L1 constructs of the CDK."""
        return EndpointReference(endpoint_arn=self.endpoint_arn)

    @jsii.member(jsii_name="grantInvoke")
    def grant_invoke(
        self, grantee: iam.IGrantable, *, models: Sequence[str] | None = None
    ) -> iam.Grant:
        """Allow `grantee` to invoke the endpoint (`sagemaker:InvokeEndpoint`).

        `models` limits the grant to all versions of these models, delivered or published, by the
        condition key `sagemaker:TargetModel` (archives are named `<model>-<version>.tar.gz`); None
        allows all models. Raise `ValueError` if `models` is empty or contains a pattern, or if the
        endpoint is known to use single-model hosting, which has no `TargetModel`.
        """
        named_models = validate_model_names(models)
        archives = [
            f"{folder}{model}-????????????.tar.gz"
            for model in named_models or ()
            for folder in ("", PUBLISHED)
        ]
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:InvokeEndpoint"],
            resource_arns=[self.endpoint_arn],
            conditions={"StringLike": {"sagemaker:TargetModel": archives}} if archives else None,
        )
