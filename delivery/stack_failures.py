"""Readable sentences from CloudFormation's failure reasons."""

import re

_CUSTOM_RESOURCE = re.compile(
    r"^Received response status \[FAILED\] from custom resource\. Message returned: "
)


def readable_reason(reason: str) -> str:
    """Return CloudFormation's reason without stack trace and request id.

    The CDK's provider framework appends the stack trace after an empty line (framework.js of
    aws-cdk-lib's custom-resources).
    """
    message = _CUSTOM_RESOURCE.sub("", reason.strip()).partition("\n\n")[0]
    return re.sub(r" \(RequestId: [^)]*\)$", "", " ".join(message.split())).removeprefix("Error: ")
