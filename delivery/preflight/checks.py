"""The checks of a preflight: faults that would make a deploy fail late or after it cost money.

CloudFormation, CodeBuild and the cdk CLI report other faults within a minute, before an endpoint
changes: the syntax of policies, names that exist already, a quota on builds;
`cdk diff --method=change-set` makes only those checks of CloudFormation
(https://aws.amazon.com/blogs/devops/ship-infrastructure-faster-with-cloudformation-and-cdk-pre-deployment-validation-on-every-stack-operation/).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from botocore.exceptions import BotoCoreError, ClientError

from delivery.aws import DENIED, failure_reason
from delivery.preflight import existing_resources, quotas
from delivery.preflight.account import Account, CheckFinding, ok, refused, unknown
from platform_facts import ImageReference

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
OWN_IMAGE = "push the image, or correct image.uri in the stage's file"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
MEDIA_TYPES = (
    DOCKER_MANIFEST,
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
)
BUILD_IMAGE = "docker buildx build --platform linux/amd64 --provenance=false --output type=docker"
"""Makes an image whose manifest CreateModel accepts (aws/amazon-sagemaker-feedback#180)."""
MANY_MODELS = "com.amazonaws.sagemaker.capabilities.multi-models"
"""The label of an image that can serve many models
(https://docs.aws.amazon.com/sagemaker/latest/dg/build-multi-model-build-container.html)."""


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
    """Request the manifest of each image, as a pull does, and read an image of one's own.

    AWS's registries grant BatchGetImage and the two calls for layers, not DescribeImages
    (aws/deep-learning-containers#5657 quotes all three).
    """
    serves_many = dict[str, bool]()
    for model in account.resources("AWS::SageMaker::Model"):
        container = model["PrimaryContainer"]
        uri, is_multi_model = container["Image"], container.get("Mode") == "MultiModel"
        serves_many[uri] = is_multi_model or serves_many.get(uri, False)
    for uri, is_multi_model in sorted(serves_many.items()):
        try:
            image = ImageReference.parse(uri)
        except ValueError as error:
            yield unknown(uri, str(error))
            continue
        if image.region != account.region:
            message = f"the image is in {image.region}, the endpoint in {account.region}"
            yield refused(uri, message, OTHER_RELEASE)
        else:
            yield _check_image(account, uri, image, is_multi_model=is_multi_model)


def _check_image(
    account: Account, uri: str, image: ImageReference, *, is_multi_model: bool
) -> CheckFinding:
    name, fix = image.repository, OWN_IMAGE if image.digest else OTHER_RELEASE
    repository = {"registryId": image.account, "repositoryName": name}
    try:
        response = account.client("ecr").batch_get_image(
            **repository,
            imageIds=[{"imageDigest": image.digest} if image.digest else {"imageTag": image.tag}],
            acceptedMediaTypes=list(MEDIA_TYPES),
        )
        if response["images"] and image.digest:
            manifest = response["images"][0]
            return _check_own_image(account, uri, repository, manifest, is_multi_model)
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


def _check_own_image(
    account: Account, uri: str, repository: Mapping[str, str], image: Any, is_multi_model: bool
) -> CheckFinding:
    """Compare the configuration in an image with what SageMaker needs. Raise `ClientError`."""
    manifest = json.loads(image["imageManifest"])
    media_type = image.get("imageManifestMediaType") or manifest.get("mediaType")
    if media_type != DOCKER_MANIFEST:
        return unknown(uri, f"CreateModel refused images of {media_type} in 2025", BUILD_IMAGE)
    layer = account.client("ecr").get_download_url_for_layer(
        **repository, layerDigest=manifest["config"]["digest"]
    )
    try:
        with urlopen(layer["downloadUrl"], timeout=30) as response:
            configuration = json.load(response)
    except (OSError, ValueError) as error:
        return unknown(uri, f"its configuration was not read: {error}")
    platform = f"{configuration.get('os')}/{configuration.get('architecture')}"
    if platform != "linux/amd64":
        return refused(uri, f"is for {platform}, the instances for linux/amd64", BUILD_IMAGE)
    labels = configuration.get("config", {}).get("Labels") or {}
    if is_multi_model and labels.get(MANY_MODELS) != "true":
        message = "its label does not say that it serves many models"
        return refused(uri, message, f"write LABEL {MANY_MODELS}=true into its Dockerfile")
    return ok(uri, f"exists and can be pulled, for {platform}")


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
