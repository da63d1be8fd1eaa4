"""The base class of endpoints of this app and of imported endpoints."""

import re
from collections.abc import Sequence

import jsii
from aws_cdk import Resource, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk.interfaces.aws_sagemaker import EndpointReference
from constructs import Construct

from platform_facts.rules.bucket_keys import PUBLISHED


def checked_models(models: Sequence[str] | None) -> Sequence[str] | None:
    """Return `models`, None for all. Raise `ValueError` if it is empty or contains a pattern."""
    if models is not None and not models:
        raise ValueError("models: is empty: name the models, or leave it out to grant all")
    for model in models or ():
        if not re.fullmatch("[A-Za-z0-9_-]+", model):
            raise ValueError(f"models: {model!r} is not the name of a model: write no pattern")
    return models


@jsii.implements(sagemaker.IEndpoint)
class EndpointBase(Resource):
    """An endpoint of this app, or of another app in the same account and region.

    `endpoint_arn` is derived from the name, so that resources that use it do not depend on the
    endpoint. The class implements the CDK's `sagemaker.IEndpoint`, which for example API Gateway's
    `SagemakerIntegration` accepts.
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
        """Return the existing endpoint of this name, in the account and region of the stack."""
        return EndpointBase(scope, construct_id, endpoint_name=endpoint_name)

    @property
    @jsii.member(jsii_name="endpointName")
    def endpoint_name(self) -> str:
        """The name of the endpoint."""
        return self._endpoint_name

    @property
    @jsii.member(jsii_name="endpointArn")
    def endpoint_arn(self) -> str:
        """The ARN of the endpoint."""
        return self._endpoint_arn

    @property
    @jsii.member(jsii_name="endpointRef")
    def endpoint_ref(self) -> EndpointReference:
        """The ARN, in the form that L1 constructs accept."""
        return EndpointReference(endpoint_arn=self.endpoint_arn)

    @jsii.member(jsii_name="grantInvoke")
    def grant_invoke(
        self, grantee: iam.IGrantable, *, models: Sequence[str] | None = None
    ) -> iam.Grant:
        """Allow `grantee` to invoke the endpoint.

        `models` restricts the permission to these models, with the condition key
        `sagemaker:TargetModel`: to the archive `<model>.tar.gz`, and to all delivered and published
        versions, `<model>-<version>.tar.gz` with 12 characters of a version. Raise `ValueError` if
        the hosting mode is known and has no `TargetModel`.
        """
        archives = [
            archive
            for model in checked_models(models) or ()
            for archive in (
                f"{model}.tar.gz",
                f"{model}-????????????.tar.gz",
                f"{PUBLISHED}{model}-????????????.tar.gz",
            )
        ]
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:InvokeEndpoint"],
            resource_arns=[self.endpoint_arn],
            conditions={"StringLike": {"sagemaker:TargetModel": archives}} if archives else None,
        )
