"""The bucket of a stage's archives."""

from typing import TYPE_CHECKING

from delivery.permissions import NAMED_RESOURCES
from plan.deployed import models_stack_outputs

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

BUCKET_OUTPUT = f"ExportsOutputRef{NAMED_RESOURCES['model_bucket'].logical_id}"
"""Prefix of the stack output with the bucket's name (aws-cdk-lib, core/lib/private/refs.ts)."""


def model_bucket(cloudformation: "CloudFormationClient", stage: str) -> str | None:
    """Return the name of a stage's bucket, None if the stage was never deployed."""
    outputs = models_stack_outputs(cloudformation, stage)
    return next((value for name, value in outputs.items() if name.startswith(BUCKET_OUTPUT)), None)
