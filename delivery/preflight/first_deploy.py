"""Check what the first deploy into an account and region needs to exist."""

import json
from collections.abc import Iterator
from pathlib import Path

from botocore.exceptions import ClientError

from delivery.preflight.account import Account
from delivery.preflight.findings import CheckFinding, ok, refused

DEFAULT_QUALIFIER = "hnb659fds"
"""The CDK's (https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping-customizing.html)."""
SCALABLE_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
SCALING_ROLE = "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
SCALING_SERVICE = "sagemaker.application-autoscaling.amazonaws.com"
"""The service-linked role of scaling and the service that assumes it
(https://docs.aws.amazon.com/autoscaling/application/userguide/services-that-can-integrate-sagemaker.html)."""


def check_bootstrap(account: Account) -> Iterator[CheckFinding]:
    """Compare the version of `cdk bootstrap`, by its qualifier, with what the stacks require.

    The cdk CLI reports it too, but only for the stack whose turn it is, after others have changed.
    """
    for parameter, version in required_bootstraps(account.assembly).items():
        try:
            answer = account.client("ssm").get_parameter(Name=parameter)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ParameterNotFound":
                raise
            installed = "it does not exist"
        else:
            installed = f"version {answer['Parameter']['Value']}"
            if int(answer["Parameter"]["Value"]) >= version:
                yield ok(parameter, installed)
                continue
        command = f"cdk bootstrap aws://{account.caller.account}/{account.region}"
        if (qualifier := qualifier_of(parameter)) != DEFAULT_QUALIFIER:
            # Without a name of its own, it would replace the stack of the default qualifier.
            command += f" --qualifier {qualifier} --toolkit-stack-name CDKToolkit-{qualifier}"
        problem = f"{installed}, and the stacks need version {version}"
        yield refused(parameter, problem, command)


def required_bootstraps(assembly: Path) -> dict[str, int]:
    """Return the parameter of each bootstrap stack of an assembly -> the version that it needs."""
    manifest, required = json.loads((assembly / "manifest.json").read_text()), dict[str, int]()
    for artifact in manifest["artifacts"].values():
        properties = artifact.get("properties", {})
        if parameter := properties.get("bootstrapStackVersionSsmParameter"):
            version = properties.get("requiresBootstrapStackVersion", 0)
            required[parameter] = max(version, required.get(parameter, 0))
    return required


def qualifier_of(parameter: str) -> str:
    """Return the qualifier in the name of a parameter such as /cdk-bootstrap/hnb659fds/version."""
    return parameter.split("/")[2]


def check_scaling_role(account: Account) -> Iterator[CheckFinding]:
    """Look for the service-linked role of scaling, if the stage scales.

    RegisterScalableTarget creates it, and may fail before IAM has spread it: "Unable to assume IAM
    role" (aws-samples/amazon-bedrock-samples#253, aws/aws-cdk#4108). The target comes after the
    endpoint, which the first stack would then delete again. The path has the name of the service
    (IAM user guide, reference_identifiers); the local SageMaker gives the role another name.
    """
    if not any(account.resources(SCALABLE_TARGET)):
        return
    roles = account.client("iam").list_roles(PathPrefix=f"/aws-service-role/{SCALING_SERVICE}/")
    if roles["Roles"]:
        yield ok(SCALING_ROLE, "exists")
    else:
        command = f"aws iam create-service-linked-role --aws-service-name {SCALING_SERVICE}"
        yield refused(SCALING_ROLE, "the role that scales endpoints does not exist", command)
