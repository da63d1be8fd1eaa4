"""The IAM roles of GitHub workflows in the account of a stage, without access keys."""

from collections.abc import Sequence

from aws_cdk import CfnOutput, DefaultStackSynthesizer, Duration, Environment, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

import platform_facts
from platform_facts.rules import bucket_keys, catalog
from platform_facts.rules.builds import asset_prefix
from stacks.model_stack import build_functions
from stages.schema.delivery import DeliveryConfig
from stages.schema.existing import ExistingConfig
from stages.time_budget import JOB_MINUTES
from triton_sagemaker.allow import allow
from triton_sagemaker.list_asset import LISTS_REASON

ISSUER = "token.actions.githubusercontent.com"
BOOTSTRAP_ROLES = ("deploy", "file-publishing", "lookup")
ACCOUNT_ACTIONS = (
    "cloudwatch:DescribeAlarms",
    "iam:ListRoles",
    "lambda:GetAccountSettings",
    "logs:DescribeLogGroups",
    "sagemaker:DescribeEndpoint",
    "sagemaker:DescribeEndpointConfig",
    "sagemaker:ListEndpoints",
    "servicequotas:ListAWSDefaultServiceQuotas",
    "servicequotas:ListServiceQuotas",
)
"""Actions of the preflight and of the deploy on all resources."""

STAGES_REASON = (
    "Catalog, endpoints and stacks of this stage, and the models stack of its source stage."
)
BUCKETS_REASON = "CloudFormation generates bucket names; a condition limits the use of keys to S3."
PREFLIGHT_REASON = "The delivery reads quotas, all endpoints and one role of the account."
POLICIES_REASON = "Deliveries name policies of the stage that were changed by hand."
IMAGES_REASON = "The Triton images of AWS are in accounts that differ between regions."


class DeliveryStack(Stack):
    """GitHub's identity provider, the review role and the deploy role.

    A person deploys this stack once: workflows cannot deploy it, because they need its roles. A
    deployment assumes the roles of `cdk bootstrap`, which limit what it can change. The deploy role
    itself can copy archives, start builds, invoke models, and record and store deliveries.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage_name: str,
        delivery: DeliveryConfig,
        components: bool = False,
        images: Sequence[str] = (),
        existing: ExistingConfig,
        env: Environment,
    ) -> None:
        super().__init__(scope, construct_id, env=env)
        provider = self._identity_provider(exists=delivery.provider_exists)
        review, deploy = (
            iam.Role(
                self,
                name,
                assumed_by=iam.WebIdentityPrincipal(
                    provider.oidc_provider_arn,
                    {
                        "StringEquals": {
                            f"{ISSUER}:aud": "sts.amazonaws.com",
                            # Without a wildcard, so that no other token matches.
                            f"{ISSUER}:sub": [f"repo:{delivery.repository}:{subject}"],
                        }
                    },
                ),
                max_session_duration=session,
            )
            for name, subject, session in (
                ("Review", "ref:refs/heads/main", Duration.hours(1)),
                # The token of a job with an environment always has this subject: the rules of the
                # environment, such as an approval, apply before the role is available.
                ("Deploy", f"environment:{stage_name}", Duration.minutes(JOB_MINUTES)),
            )
        )
        CfnOutput(self, "ReviewRoleArn", value=review.role_arn)
        CfnOutput(self, "DeployRoleArn", value=deploy.role_arn)
        # Review jobs need no approval, so they may read templates only, and not assume the lookup
        # role, which can read the whole account. Without it, the CDK CLI uses its own credentials.
        templates = ["cloudformation:DescribeStacks", "cloudformation:GetTemplate"]
        # cdk-nag's finding about this wildcard is acknowledged below, for the deploy role.
        allow(review, templates, [self._arn("cloudformation", f"stack/{stage_name}-*")])
        qualifier = existing.bootstrap_qualifier or DefaultStackSynthesizer.DEFAULT_QUALIFIER
        self._allow_deploys(deploy, stage_name, qualifier)
        if components:
            names = [self._arn("sagemaker", f"inference-component/{stage_name}-*")]
            actions = ["sagemaker:DescribeInferenceComponent", "sagemaker:InvokeEndpoint"]
            allow(deploy, actions, names, STAGES_REASON)
        self._allow_archives(deploy, stage_name, delivery.promotes_from, existing.kms_key_arn)
        self._allow_preflight(deploy, stage_name, qualifier, images)

    def _identity_provider(self, *, exists: bool) -> iam.IOidcProvider:
        if exists:
            arn = self._arn("iam", f"oidc-provider/{ISSUER}")
            return iam.OidcProviderNative.from_oidc_provider_arn(self, "GitHub", arn)
        return iam.OidcProviderNative(
            self, "GitHub", url=f"https://{ISSUER}", client_ids=["sts.amazonaws.com"]
        )

    def _allow_deploys(self, role: iam.IRole, stage: str, qualifier: str) -> None:
        """Allow to deploy, explain failures, repair the catalog and invoke models."""
        names = [
            f"role/cdk-{qualifier}-{name}-role-{self.account}-{self.region}"
            for name in BOOTSTRAP_ROLES
        ]
        allow(role, ["sts:AssumeRole"], [self._arn("iam", name) for name in names])
        table = self._arn("dynamodb", f"table/{catalog.table_name(stage)}")
        read = ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"]
        allow(role, [*read, "dynamodb:PutItem"], [table])  # PutItem restores deleted entries
        allow(role, ["dynamodb:Query"], [f"{table}/index/{catalog.INDEX}"])
        assets = f"cdk-{qualifier}-assets-{self.account}-{self.region}"
        lists = self._arn("s3", f"{assets}/{asset_prefix(stage)}*.jsonl")
        allow(role, ["s3:GetObject"], [lists], LISTS_REASON)
        actions = ["sagemaker:DescribeEndpoint", "sagemaker:InvokeEndpoint"]
        allow(role, actions, [self._arn("sagemaker", f"endpoint/{stage}-*")], STAGES_REASON)
        actions = [
            "cloudformation:DescribeStackEvents",
            "cloudformation:DescribeStackResource",
            "cloudformation:DescribeStacks",
            "cloudformation:GetTemplate",
            "cloudformation:ListStackResources",
        ]
        allow(role, actions, [self._arn("cloudformation", f"stack/{stage}-*")], STAGES_REASON)

    def _allow_archives(
        self, role: iam.IRole, stage: str, promotes_from: str | None, key: str | None
    ) -> None:
        """Allow to find, copy and build archives, and to record and store the delivery.

        CloudFormation generates the names of buckets, which start with the name of the stack, and
        of keys, so a condition limits keys to use by S3.
        """
        own_bucket, *source_bucket = (
            self._arn("s3", f"{name}-models-modelsbucket*")
            for name in (stage, promotes_from)
            if name
        )
        # Without ListBucket, S3 returns 403 instead of 404 for a missing object.
        allow(role, ["s3:ListBucket"], [own_bucket, *source_bucket], BUCKETS_REASON)
        objects = [f"{bucket}/*" for bucket in (own_bucket, *source_bucket)]
        allow(role, ["s3:GetObject"], objects, BUCKETS_REASON)
        if promotes_from:
            copy = ["s3:AbortMultipartUpload", "s3:PutObject"]
            allow(role, copy, [f"{own_bucket}/*"], BUCKETS_REASON)
            source = self._arn("cloudformation", f"stack/{promotes_from}-models/*")
            allow(role, ["cloudformation:DescribeStacks"], [source], STAGES_REASON)
        else:
            prefixes = (bucket_keys.HISTORY, bucket_keys.LISTS, bucket_keys.RELEASES)
            writable = [f"{own_bucket}/{prefix}*" for prefix in prefixes]
            allow(role, ["s3:PutObject"], writable, BUCKETS_REASON)
        suffix = platform_facts.region(self.region).dns_suffix
        through_s3 = {"StringEquals": {"kms:ViaService": f"s3.{self.region}.{suffix}"}}
        if key:
            through_dynamodb = f"dynamodb.{self.region}.{suffix}"
            conditions = {"StringEquals": {"kms:ViaService": through_dynamodb}}
            allow(role, ["kms:Decrypt"], [key], conditions=conditions)
        if key is None or promotes_from:  # the other stage may have another key
            key = self._arn("kms", "key/*")
        actions = ["kms:Decrypt", "kms:GenerateDataKey"]
        allow(role, actions, [key], BUCKETS_REASON, conditions=through_s3)
        # These functions start and watch builds, so CodeBuild permissions are not needed.
        functions = [self._arn("lambda", f"function:{name}") for name in build_functions(stage)]
        allow(role, ["lambda:InvokeFunction"], functions)

    def _allow_preflight(
        self, role: iam.IRole, stage: str, qualifier: str, own_images: Sequence[str]
    ) -> None:
        """Allow the read-only checks of the account, before and after a deploy.

        If a permission is missing, the delivery reports it and continues.
        """
        images = self._arn("ecr", "repository/sagemaker-tritonserver", account="*")
        allow(role, ACCOUNT_ACTIONS, ["*"], PREFLIGHT_REASON)
        allow(role, ["ecr:BatchGetImage"], [images], IMAGES_REASON)
        references = map(platform_facts.ImageReference.parse, own_images)
        if arns := sorted({image.repository_arn(self.partition) for image in references}):
            allow(role, ["ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"], arns)
        for action, name in {
            "iam:GetRolePolicy": self._arn("iam", f"role/{stage}-*"),
            "kms:GetKeyPolicy": self._arn("kms", "key/*"),
            "s3:GetBucketPolicy": self._arn("s3", f"{stage}-*"),
        }.items():
            allow(role, [action], [name], POLICIES_REASON)
        versions = [self._arn("ssm", f"parameter/cdk-bootstrap/{qualifier}/version")]
        allow(role, ["ssm:GetParameter"], versions)

    def _arn(self, service: str, resource: str, *, account: str | None = None) -> str:
        """Return an ARN; ARNs of IAM have no region, ARNs of S3 have no region and no account."""
        region = "" if service in ("iam", "s3") else self.region
        account = "" if service == "s3" else account or self.account
        return f"arn:{self.partition}:{service}:{region}:{account}:{resource}"
