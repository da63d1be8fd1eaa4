"""The stack with the bucket of a stage's archives."""

from typing import TYPE_CHECKING

from delivery.aws import stack_description
from delivery.permissions import NAMED_RESOURCES

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

BUCKET_OUTPUT = f"ExportsOutputRef{NAMED_RESOURCES['model_bucket'].logical_id}"
"""Prefix of the stack output with the bucket's name (aws-cdk-lib, core/lib/private/refs.ts)."""


def stack_name(stage: str) -> str:
    """Return the name of the stack with a stage's bucket."""
    return f"{stage}-models"


def stack_outputs(cloudformation: "CloudFormationClient", stage: str) -> dict[str, str]:
    """Return the outputs of the stack with a stage's bucket; empty if it was never deployed."""
    stack = stack_description(cloudformation, stack_name(stage))
    outputs = stack.get("Outputs", ()) if stack else ()
    return {output["OutputKey"]: output["OutputValue"] for output in outputs}


def model_bucket(cloudformation: "CloudFormationClient", stage: str) -> str | None:
    """Return the name of a stage's bucket, None if the stage was never deployed."""
    outputs = stack_outputs(cloudformation, stage)
    return next((value for name, value in outputs.items() if name.startswith(BUCKET_OUTPUT)), None)
