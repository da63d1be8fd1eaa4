"""CloudFormation's and SageMaker's descriptions of a stage's stacks and endpoints."""

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import StackTypeDef
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker.type_defs import DescribeEndpointOutputTypeDef


def stack_description(cloudformation: "CloudFormationClient", stack: str) -> "StackTypeDef | None":
    """Return CloudFormation's description of a stack, None if it does not exist."""
    try:
        (description,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        return None
    return description


def models_stack(stage: str) -> str:
    """Return the name of the stack with a stage's bucket and builder."""
    return f"{stage}-models"


def models_stack_outputs(cloudformation: "CloudFormationClient", stage: str) -> dict[str, str]:
    """Return the outputs of that stack; empty if it was never deployed."""
    stack = stack_description(cloudformation, models_stack(stage))
    outputs = stack.get("Outputs", ()) if stack else ()
    return {output["OutputKey"]: output["OutputValue"] for output in outputs}


def endpoint_description(
    sagemaker: "SageMakerClient", name: str
) -> "DescribeEndpointOutputTypeDef | None":
    """Return SageMaker's description of an endpoint, None if it does not exist."""
    try:
        return sagemaker.describe_endpoint(EndpointName=name)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationException":
            raise
        return None
