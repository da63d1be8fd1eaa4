"""The access of GitHub's workflows to the account of a stage: roles for hours, without keys."""

from aws_cdk import CfnOutput, DefaultStackSynthesizer, Duration, Environment, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

import platform_facts
import stage_record
from stacks.model_stack import build_functions
from stages.schema.delivery import DeliveryConfig
from stages.time_budget import JOB_MINUTES
from triton_sagemaker.allow import allow

ISSUER = "token.actions.githubusercontent.com"
QUALIFIER = DefaultStackSynthesizer.DEFAULT_QUALIFIER
BOOTSTRAP_ROLES = ("deploy", "file-publishing", "lookup")
ACCOUNT_WIDE = (
    "sagemaker:DescribeEndpoint",
    "sagemaker:DescribeEndpointConfig",
    "sagemaker:ListEndpoints",
    "servicequotas:ListAWSDefaultServiceQuotas",
    "servicequotas:ListServiceQuotas",
)
"""What a preflight lists."""

STAGES = "The catalog, endpoints and stacks of this stage, and the stack that archives come from."
BUCKETS = "Buckets of these stages, whose names CloudFormation completes; keys through S3 alone."
PREFLIGHT = "A preflight lists what knows no resources, or is counted against the account's quotas."
IMAGES = "AWS's images."


class DeliveryStack(Stack):
    """GitHub's identity provider, the role that reviews and the role that deploys.

    A person deploys it once: the workflows cannot deploy what lets them in. Resources are
    changed by the roles of `cdk bootstrap`, which they assume: what a deploy may do is decided
    there. The deploy role itself copies archives and has them built, invokes models, and remembers
    what it delivered.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage_name: str,
        delivery: DeliveryConfig,
        components: bool = False,
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
                            # No wildcard, so that no other token fits.
                            f"{ISSUER}:sub": [f"repo:{delivery.repository}:{subject}"],
                        }
                    },
                ),
                max_session_duration=session,
            )
            for name, subject, session in (
                ("Review", "ref:refs/heads/main", Duration.hours(1)),
                # A job with an environment has no other subject: what the environment asks for,
                # such as the approval of a person, comes before the role.
                ("Deploy", f"environment:{stage_name}", Duration.minutes(JOB_MINUTES)),
            )
        )
        CfnOutput(self, "ReviewRoleArn", value=review.role_arn)
        CfnOutput(self, "DeployRoleArn", value=deploy.role_arn)
        # Nobody approves the jobs of a review: it reads templates, and not all that is in the
        # account, as the lookup role would. The CLI goes on as its caller where it may not assume
        # that one.
        templates = ["cloudformation:DescribeStacks", "cloudformation:GetTemplate"]
        # The wildcard is acknowledged with the deploy role's.
        allow(review, templates, [self._arn("cloudformation", f"stack/{stage_name}-*")])
        self._allow_deploys(deploy, stage_name)
        if components:
            names = [self._arn("sagemaker", f"inference-component/{stage_name}-*")]
            allow(deploy, ["sagemaker:InvokeEndpoint"], names, STAGES)
        self._allow_archives(deploy, stage_name, delivery.promotes_from)
        self._allow_preflight(deploy)

    def _identity_provider(self, *, exists: bool) -> iam.IOidcProvider:
        if exists:
            arn = self._arn("iam", f"oidc-provider/{ISSUER}")
            return iam.OidcProviderNative.from_oidc_provider_arn(self, "GitHub", arn)
        return iam.OidcProviderNative(
            self, "GitHub", url=f"https://{ISSUER}", client_ids=["sts.amazonaws.com"]
        )

    def _allow_deploys(self, role: iam.IRole, stage: str) -> None:
        """Allow what deploys, explains a deploy, repairs the catalog and invokes models."""
        names = [
            f"role/cdk-{QUALIFIER}-{name}-role-{self.account}-{self.region}"
            for name in BOOTSTRAP_ROLES
        ]
        allow(role, ["sts:AssumeRole"], [self._arn("iam", name) for name in names])
        actions = [
            "ssm:GetParameter",
            "ssm:GetParameterHistory",  # of who changed the catalog
            "ssm:GetParametersByPath",
            "ssm:PutParameter",  # of deleted entries, and of the record of deliveries
        ]
        allow(role, actions, [self._arn("ssm", f"parameter/triton/{stage}/*")], STAGES)
        actions = ["sagemaker:DescribeEndpoint", "sagemaker:InvokeEndpoint"]
        allow(role, actions, [self._arn("sagemaker", f"endpoint/{stage}-*")], STAGES)
        actions = [
            "cloudformation:DescribeStackEvents",
            "cloudformation:DescribeStackResource",
            "cloudformation:DescribeStacks",
            "cloudformation:GetTemplate",
            "cloudformation:ListStackResources",
        ]
        allow(role, actions, [self._arn("cloudformation", f"stack/{stage}-*")], STAGES)

    def _allow_archives(self, role: iam.IRole, stage: str, promotes_from: str | None) -> None:
        """Allow to find, copy and build archives, and to record the delivery.

        CloudFormation chooses the buckets' and keys' names: a bucket's begins with its stack's, a
        key is used through S3 alone.
        """
        own, *other = (
            self._arn("s3", f"{name}-models-modelsbucket*")
            for name in (stage, promotes_from)
            if name
        )
        # Without ListBucket, S3 answers 403 for an object that is not there.
        allow(role, ["s3:ListBucket"], [own, *other], BUCKETS)
        allow(role, ["s3:GetObject"], [f"{bucket}/*" for bucket in (own, *other)], BUCKETS)
        if promotes_from:
            allow(role, ["s3:AbortMultipartUpload", "s3:PutObject"], [f"{own}/*"], BUCKETS)
            source = self._arn("cloudformation", f"stack/{promotes_from}-models/*")
            allow(role, ["cloudformation:DescribeStacks"], [source], STAGES)
            delivered = self._arn("ssm", f"parameter/triton/{promotes_from}/delivered")
            allow(role, ["ssm:GetParameter"], [delivered])
        else:
            allow(role, ["s3:PutObject"], [f"{own}/{stage_record.FOLDER}*"], BUCKETS)
        suffix = platform_facts.region(self.region).dns_suffix
        through_s3 = {"StringEquals": {"kms:ViaService": f"s3.{self.region}.{suffix}"}}
        keys, actions = self._arn("kms", "key/*"), ["kms:Decrypt", "kms:GenerateDataKey"]
        allow(role, actions, [keys], BUCKETS, conditions=through_s3)
        # They start and watch builds: nothing of CodeBuild itself.
        functions = [self._arn("lambda", f"function:{name}") for name in build_functions(stage)]
        allow(role, ["lambda:InvokeFunction"], functions)

    def _allow_preflight(self, role: iam.IRole) -> None:
        """Allow what the first step of a delivery checks: it only reads.

        Without one of them, its check says so and the delivery goes on.
        """
        images = self._arn("ecr", "repository/sagemaker-tritonserver", account="*")
        allow(role, ACCOUNT_WIDE, ["*"], PREFLIGHT)
        allow(role, ["ecr:BatchGetImage"], [images], IMAGES)

    def _arn(self, service: str, resource: str, *, account: str | None = None) -> str:
        """Return an ARN; IAM is in no region, and buckets are in no account either."""
        region = "" if service in ("iam", "s3") else self.region
        account = "" if service == "s3" else account or self.account
        return f"arn:{self.partition}:{service}:{region}:{account}:{resource}"
