"""The checks of a preflight: faults that would make a deploy fail late or after it cost money.

CloudFormation, CodeBuild and the cdk CLI report other faults within a minute, before an endpoint
changes: the syntax of policies, names that exist already, a quota on builds;
`cdk diff --method=change-set` makes only those checks of CloudFormation
(https://aws.amazon.com/blogs/devops/ship-infrastructure-faster-with-cloudformation-and-cdk-pre-deployment-validation-on-every-stack-operation/).
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from delivery.aws import DENIED, failure_reason
from delivery.preflight import existing_resources, quotas
from delivery.preflight.account import Account, CheckFinding, ok, refused, unknown

Check = Callable[[Account], Iterable[CheckFinding]]
DEFAULT_QUALIFIER = "hnb659fds"
"""The CDK's (https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping-customizing.html)."""
SCALABLE_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
SCALING_ROLE = "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
SCALING_SERVICE = "sagemaker.application-autoscaling.amazonaws.com"
"""The service-linked role of scaling and the service that assumes it
(https://docs.aws.amazon.com/autoscaling/application/userguide/services-that-can-integrate-sagemaker.html)."""
NO_POLICY = "no resource-based policy allows"
"""Part of ECR's error if the repository's policy does not allow this account, as in a region
without the image (aws/sagemaker-python-sdk#4064)."""
OTHER_RELEASE = (
    "write another release into the stage's file: docs.aws.amazon.com lists a region's releases"
)
MEDIA_TYPES = (
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
)
_URI = re.compile(r"(\d{12})\.dkr\.ecr\.([\w-]+)\.[^/]+/([^:@]+):(.+)")


def check_caller(account: Account) -> Iterator[CheckFinding]:
    """Compare the caller's account with the account in the stage's file."""
    expected, caller = account.tree.stage(account.stage).account, account.caller
    if expected is not None and expected != caller.account:
        yield refused(
            "account",
            f"these credentials are of account {caller.account}, and stages/{account.stage}.yaml "
            f"has {expected}",
            "use credentials of the stage's account, or correct the file",
        )
    yield ok("caller", f"{caller.arn} in {account.region}")


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


def check_images(account: Account) -> Iterator[CheckFinding]:
    """Request the manifest of each image, as a pull does.

    AWS's registries grant BatchGetImage and the two calls for layers, not DescribeImages
    (aws/deep-learning-containers#5657 quotes all three).
    """
    models = account.resources("AWS::SageMaker::Model")
    for image in sorted({str(model["PrimaryContainer"]["Image"]) for model in models}):
        match = _URI.fullmatch(image)
        if match is None:
            yield unknown(image, "not an image of an ECR repository")
        elif match[2] != account.region:
            message = f"the image is in {match[2]}, the endpoint in {account.region}"
            yield refused(image, message, OTHER_RELEASE)
        else:
            yield _check_image(account, image, registry=match[1], name=match[3], tag=match[4])


def _check_image(
    account: Account, image: str, *, registry: str, name: str, tag: str
) -> CheckFinding:
    try:
        response = account.client("ecr").batch_get_image(
            registryId=registry,
            repositoryName=name,
            imageIds=[{"imageTag": tag}],
            acceptedMediaTypes=list(MEDIA_TYPES),
        )
    except ClientError as error:
        code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
        if code == "RepositoryNotFoundException":
            return refused(image, f"registry {registry} has no repository {name}", OTHER_RELEASE)
        if code in DENIED and NO_POLICY in message:
            message = f"registry {registry} does not share {name} in {account.region}"
            return refused(image, message, OTHER_RELEASE)
        return unknown(image, failure_reason(error))
    if response["images"]:
        return ok(image, "exists and can be pulled")
    message = f"repository {name} of registry {registry} has no tag {tag}"
    return refused(image, message, OTHER_RELEASE)


def check_scaling_role(account: Account) -> Iterator[CheckFinding]:
    """Look for the service-linked role of scaling, if the stage scales.

    RegisterScalableTarget creates it, and may fail before IAM has spread it: "Unable to assume IAM
    role" (aws-samples/amazon-bedrock-samples#253, aws/aws-cdk#4108). The target comes after the
    endpoint, which the first stack would then delete again. The path has the name of the service
    (IAM user guide, reference_identifiers); the local SageMaker gives the role another name.
    """
    if next(account.resources(SCALABLE_TARGET), None) is None:
        return
    roles = account.client("iam").list_roles(PathPrefix=f"/aws-service-role/{SCALING_SERVICE}/")
    if roles["Roles"]:
        yield ok(SCALING_ROLE, "exists")
    else:
        command = f"aws iam create-service-linked-role --aws-service-name {SCALING_SERVICE}"
        yield refused(SCALING_ROLE, "the role that scales endpoints does not exist", command)


CHECKS: Mapping[str, Check] = {
    "identity": check_caller,
    "bootstrap": check_bootstrap,
    "existing": existing_resources.check,
    "images": check_images,
    "instances": quotas.check_instances,
    "scaling": check_scaling_role,
}
"""Name -> function, in the order of execution."""


def run_checks(account: Account, checks: Mapping[str, Check] = CHECKS) -> Iterator[CheckFinding]:
    """Yield the findings of all checks; an AWS error becomes an unknown finding."""
    for name, check in checks.items():
        try:
            for finding in check(account):
                yield replace(finding, check=name)
        except (ClientError, BotoCoreError) as error:
            yield replace(unknown(name, failure_reason(error)), check=name)
