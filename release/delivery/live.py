"""The template that an endpoint was deployed with."""

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from release.stack_template import stack_template
from release.stage_resources import StackEndpoint
from release.tree import Template

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_sagemaker import SageMakerClient


def live_template(
    sagemaker: "SageMakerClient", cloudformation: "CloudFormationClient", endpoint: StackEndpoint
) -> Template | None:
    """Return the template of an endpoint's stack, None where there is no endpoint yet.

    A stack whose first deploy failed has a template, and no endpoint.
    """
    try:
        sagemaker.describe_endpoint(EndpointName=endpoint.name)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationException":
            raise
        return None
    return stack_template(cloudformation, endpoint.stack)
