"""The checks of a preflight: faults that would make a deploy fail late or after it cost money.

CloudFormation, CodeBuild and the cdk CLI report other faults within a minute, before an endpoint
changes: a missing `cdk bootstrap`, the syntax of policies, names that exist already, a quota on
builds; `cdk diff --method=change-set` makes only those checks of CloudFormation
(https://aws.amazon.com/blogs/devops/ship-infrastructure-faster-with-cloudformation-and-cdk-pre-deployment-validation-on-every-stack-operation/).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from botocore.exceptions import BotoCoreError, ClientError

from delivery.aws import DENIED, failure_reason
from delivery.preflight import existing_resources, quotas
from delivery.preflight.account import Account, CheckFinding, ok, refused, unknown
from platform_facts import ImageReference

Check = Callable[[Account], Iterable[CheckFinding]]
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
OWN_IMAGE = "push the image, or correct image.uri in the stage's file"
MEDIA_TYPES = (
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
)


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


def check_images(account: Account) -> Iterator[CheckFinding]:
    """Request the manifest of each image, as a pull does.

    AWS's registries grant BatchGetImage and the two calls for layers, not DescribeImages
    (aws/deep-learning-containers#5657 quotes all three).
    """
    models = account.resources("AWS::SageMaker::Model")
    for uri in sorted({model["PrimaryContainer"]["Image"] for model in models}):
        try:
            image = ImageReference.parse(uri)
        except ValueError as error:
            yield unknown(uri, str(error))
            continue
        if image.region != account.region:
            message = f"the image is in {image.region}, the endpoint in {account.region}"
            yield refused(uri, message, OTHER_RELEASE)
        else:
            yield _check_image(account, uri, image)


def _check_image(account: Account, uri: str, image: ImageReference) -> CheckFinding:
    name, fix = image.repository, OWN_IMAGE if image.digest else OTHER_RELEASE
    try:
        response = account.client("ecr").batch_get_image(
            registryId=image.account,
            repositoryName=name,
            imageIds=[{"imageDigest": image.digest} if image.digest else {"imageTag": image.tag}],
            acceptedMediaTypes=list(MEDIA_TYPES),
        )
    except ClientError as error:
        code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
        if code == "RepositoryNotFoundException":
            return refused(uri, f"registry {image.account} has no repository {name}", fix)
        if code in DENIED and NO_POLICY in message:
            message = f"registry {image.account} does not share {name} in {account.region}"
            if image.digest:
                fix = f"allow account {account.caller.account} to pull, in the repository's policy"
            return refused(uri, message, fix)
        return unknown(uri, failure_reason(error))
    if response["images"]:
        return ok(uri, "exists and can be pulled")
    version = image.digest or f"tag {image.tag}"
    return refused(uri, f"repository {name} of registry {image.account} has no {version}", fix)


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
