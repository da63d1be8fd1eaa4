"""The interface of an endpoint, wherever it was made."""

from collections.abc import Sequence
from typing import Protocol

from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker

from triton_sagemaker.endpoint_metrics import EndpointMetrics


class ITritonEndpoint(EndpointMetrics, sagemaker.IEndpoint, Protocol):
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
