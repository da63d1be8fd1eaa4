"""Whether `cdk bootstrap` has been run here, how new it is, and with which key."""

from collections.abc import Iterator

from botocore.exceptions import ClientError

from release.preflight.account import Account
from release.preflight.rows import Row, Topic

TOPIC = Topic("bootstrap")
NEEDED, PARAMETER = "requiresBootstrapStackVersion", "bootstrapStackVersionSsmParameter"
TEMPLATE_URL = "stackTemplateAssetObjectUrl"
"""Properties of an artifact in the assembly's manifest (aws-cdk-lib, cloud-assembly-schema)."""


def ask(account: Account) -> Iterator[Row]:
    """Compare the bootstrap's version with the one that the assembly asks for; look at its key."""
    artifacts = [it["properties"] for it in account.manifest.values() if "properties" in it]
    needed: dict[str, int] = {}
    for it in artifacts:
        if NEEDED in it and PARAMETER in it:
            needed[it[PARAMETER]] = max(it[NEEDED], needed.get(it[PARAMETER], 0))
    for parameter, version in needed.items():
        yield _version(account, parameter, version)
    urls = [it[TEMPLATE_URL] for it in artifacts if TEMPLATE_URL in it]
    buckets = {url.split("/")[2] for url in urls}  # s3://BUCKET/KEY
    for bucket in sorted(buckets):
        yield from _key(account, bucket.replace("${AWS::AccountId}", account.caller.account))


def _version(account: Account, parameter: str, needed: int) -> Row:
    ssm = account.client("ssm")
    environment = f"aws://{account.caller.account}/{account.region}"
    try:
        version = int(ssm.get_parameter(Name=parameter)["Parameter"]["Value"])
    except ssm.exceptions.ParameterNotFound:
        return TOPIC.refused(
            environment,
            f"there is no {parameter}: it was never bootstrapped",
            f"cdk bootstrap {environment}",
        )
    if version < needed:
        return TOPIC.refused(
            environment,
            f"version {version}, and the templates need {needed}",
            f"cdk bootstrap {environment}",
        )
    return TOPIC.ok(environment, f"version {version}; {needed} is needed")


def _key(account: Account, bucket: str) -> Iterator[Row]:
    """Yield a row where the assets are encrypted with a key of the customer's.

    The one that `cdk bootstrap --bootstrap-customer-key` makes lets every principal of the account
    decrypt through S3; of another, given by `--bootstrap-kms-key-id`, the template changes no
    policy (aws-cdk, bootstrap-template.yaml). The roles of builds have no permission for either.
    """
    try:
        answer = account.client("s3").get_bucket_encryption(Bucket=bucket)
    except ClientError as error:
        if error.response["Error"]["Code"] not in (
            "NoSuchBucket",
            "ServerSideEncryptionConfigurationNotFoundError",
        ):
            raise
        return
    for rule in answer["ServerSideEncryptionConfiguration"]["Rules"]:
        key = rule.get("ApplyServerSideEncryptionByDefault", {}).get("KMSMasterKeyID", "")
        if key and "alias/aws/s3" not in key:
            yield TOPIC.unknown(
                bucket,
                f"encrypted with {key}: builds read their sources only if the key's policy lets "
                "the account's roles decrypt through S3, as that of a key does which cdk bootstrap "
                "has made",
                f"aws kms get-key-policy --policy-name default --key-id {key}",
            )
