"""The deployed template of a stack."""

import json
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from release.templates import Template

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient


def stack_template(cloudformation: "CloudFormationClient", stack: str) -> Template | None:
    """Return the template that a stack was last deployed with, None if there is no stack.

    Raise `ValueError` if it is not JSON, so not written by a CDK app.
    """
    try:
        response = cloudformation.get_template(StackName=stack, TemplateStage="Original")
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        return None
    body: Any = response["TemplateBody"]  # a dictionary, although the type stubs say str
    template: Template = json.loads(body) if isinstance(body, str) else dict(body)
    return template
