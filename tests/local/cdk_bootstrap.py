"""What an account needs once: the bootstrap of the CDK, and the role of scaling."""

from pathlib import Path

import boto3

from delivery import cdk
from delivery.preflight.checks import SCALING_SERVICE

STACK = "CDKToolkit"
TEMPLATE = Path("aws-cdk", "lib", "api", "bootstrap", "bootstrap-template.yaml")
AWS_MANAGED_KEY = "AWS_MANAGED_KEY"
"""The KMS key parameter of `cdk bootstrap`; other parameters have the template's defaults
(lib/api/bootstrap of aws-cdk 2.1148.1)."""


def bootstrap() -> None:
    """Create what `cdk bootstrap` creates, and the service-linked role of scaling."""
    boto3.client("iam").create_service_linked_role(AWSServiceName=SCALING_SERVICE)
    cloudformation = boto3.client("cloudformation")
    cloudformation.create_stack(
        StackName=STACK,
        TemplateBody=(cdk.CLI.parents[1] / TEMPLATE).read_text(),
        Parameters=[
            {"ParameterKey": "FileAssetsBucketKmsKeyId", "ParameterValue": AWS_MANAGED_KEY}
        ],
        Capabilities=["CAPABILITY_NAMED_IAM"],
    )
    cloudformation.get_waiter("stack_create_complete").wait(
        StackName=STACK, WaiterConfig={"Delay": 1, "MaxAttempts": 600}
    )
