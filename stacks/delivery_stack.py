"""How GitHub's workflows reach the account of a stage: as roles, for hours, without keys."""

from aws_cdk import ArnFormat, CfnOutput, DefaultStackSynthesizer, Duration, Environment, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

import platform_facts
import stage_record
from stacks.model_stack import build_functions
from stacks.time_budget import JOB_MINUTES
from stages import DeliveryConfig
from triton_sagemaker.nag import acknowledge_wildcards

ISSUER = "token.actions.githubusercontent.com"
ACCOUNT_WIDE = [
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "logs:DescribeLogGroups",
    "s3:ListAllMyBuckets",
    "sagemaker:DescribeEndpoint",
    "sagemaker:DescribeEndpointConfig",
    "sagemaker:ListEndpoints",
    "servicequotas:ListAWSDefaultServiceQuotas",
    "servicequotas:ListServiceQuotas",
    "ssm:DescribeParameters",
]
"""What a preflight lists: it knows no resources, or counts those of everybody against a quota."""

STAGES = "The catalog, endpoints and stacks of this stage, and the stack that archives come from."
BUCKETS = "Buckets of these stages, whose names CloudFormation completes; keys through S3 alone."
PREFLIGHT = "A preflight lists what knows no resources, or is counted against the account's quotas."
PLACES = "AWS's images, log groups of this stage's endpoints, and the role itself."
"""Why statements have wildcards."""

BOOTSTRAP_ROLES = ("deploy", "file-publishing", "lookup")


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
        env: Environment,
    ) -> None:
        super().__init__(scope, construct_id, env=env)
        self._repository = delivery.repository
        self._wildcards = dict[str, list[str]]()
        existing = delivery.provider_exists
        self._provider = self._existing_provider() if existing else self._new_provider()

        review = self._role("Review", "ref:refs/heads/main", session=Duration.hours(1))
        # Nobody approves its jobs: it reads templates, and not all that is in the account, as the
        # lookup role would. The CLI goes on as its caller where it may not assume that one.
        review.add_to_policy(
            self._may(
                *("cloudformation:DescribeStacks", "cloudformation:GetTemplate"),
                resource=f"stack/{stage_name}-*",
                wildcards=STAGES,
            )
        )

        # A job with an environment has no other subject: what the environment asks for, such as
        # the approval of a person, comes before the role.
        deploy = self._role(
            "Deploy", f"environment:{stage_name}", session=Duration.minutes(JOB_MINUTES)
        )
        deploy.add_to_policy(self._may_assume(*BOOTSTRAP_ROLES))
        for statement in (*self._catalog_and_models(stage_name), *self._looking_after(stage_name)):
            deploy.add_to_policy(statement)
        for statement in self._archives(stage_name, delivery.promotes_from):
            deploy.add_to_policy(statement)
        deploy.add_to_policy(self._builds(stage_name))
        for statement in self._preflight(stage_name):
            deploy.add_to_policy(statement)
        acknowledge_wildcards(self, self._wildcards)

    def _new_provider(self) -> iam.IOidcProvider:
        return iam.OidcProviderNative(
            self, "GitHub", url=f"https://{ISSUER}", client_ids=["sts.amazonaws.com"]
        )

    def _existing_provider(self) -> iam.IOidcProvider:
        arn = self.format_arn(
            service="iam", region="", resource="oidc-provider", resource_name=ISSUER
        )
        return iam.OidcProviderNative.from_oidc_provider_arn(self, "GitHub", arn)

    def _role(self, name: str, *subjects: str, session: Duration) -> iam.Role:
        """Return a role for tokens with one of `subjects`: no wildcard, so nothing else fits."""
        role = iam.Role(
            self,
            name,
            assumed_by=iam.WebIdentityPrincipal(
                self._provider.oidc_provider_arn,
                {
                    "StringEquals": {
                        f"{ISSUER}:aud": "sts.amazonaws.com",
                        f"{ISSUER}:sub": [f"repo:{self._repository}:{it}" for it in subjects],
                    }
                },
            ),
            max_session_duration=session,
        )
        CfnOutput(self, f"{name}RoleArn", value=role.role_arn)
        return role

    def _may_assume(self, *names: str) -> iam.PolicyStatement:
        qualifier = DefaultStackSynthesizer.DEFAULT_QUALIFIER
        return iam.PolicyStatement(
            actions=["sts:AssumeRole"],
            resources=[
                self.format_arn(
                    service="iam",
                    region="",
                    resource="role",
                    resource_name=f"cdk-{qualifier}-{name}-role-{self.account}-{self.region}",
                )
                for name in names
            ],
        )

    def _catalog_and_models(self, stage_name: str) -> list[iam.PolicyStatement]:
        """What it takes to invoke every model of the stage, to see who changed the catalog, and to
        write deleted entries again, beside the record of deliveries."""
        catalog = self.format_arn(
            service="ssm", resource="parameter", resource_name=f"triton/{stage_name}"
        )
        endpoints = self.format_arn(
            service="sagemaker", resource="endpoint", resource_name=f"{stage_name}-*"
        )
        return [
            self._allow(
                [
                    "ssm:GetParameter",
                    "ssm:GetParameterHistory",
                    "ssm:GetParametersByPath",
                    "ssm:PutParameter",
                ],
                [f"{catalog}/*"],
                wildcards=STAGES,
            ),
            self._allow(
                ["sagemaker:DescribeEndpoint", "sagemaker:InvokeEndpoint"],
                [endpoints],
                wildcards=STAGES,
            ),
        ]

    def _looking_after(self, stage_name: str) -> list[iam.PolicyStatement]:
        """What `release.delivery` needs before a deploy, and to explain it."""
        stacks = self.format_arn(
            service="cloudformation", resource="stack", resource_name=f"{stage_name}-*"
        )
        return [
            self._allow(
                [
                    "cloudformation:DescribeStackEvents",
                    "cloudformation:DescribeStackResource",
                    "cloudformation:DescribeStacks",
                    "cloudformation:GetTemplate",  # what an endpoint moves from
                ],
                [stacks],
                wildcards=STAGES,
            ),
        ]

    def _archives(self, stage_name: str, promotes_from: str | None) -> list[iam.PolicyStatement]:
        """What `release.delivery` needs to see archives, to copy those of a stage, and to record.

        CloudFormation chooses the buckets' and keys' names: a bucket's begins with its stack's, a
        key is used through S3 alone.
        """
        own = self._model_bucket(stage_name)
        read = [own, *([self._model_bucket(promotes_from)] if promotes_from else [])]
        # Without ListBucket, S3 answers 403 for an object that is not there.
        objects = [f"{bucket}/*" for bucket in read]
        statements = [
            self._allow(["s3:ListBucket"], read, wildcards=BUCKETS),
            self._allow(["s3:GetObject"], objects, wildcards=BUCKETS),
        ]
        if promotes_from:
            source = self.format_arn(
                service="cloudformation",
                resource="stack",
                resource_name=f"{promotes_from}-models/*",
            )
            statements += [
                self._allow(
                    ["s3:AbortMultipartUpload", "s3:PutObject"], [f"{own}/*"], wildcards=BUCKETS
                ),
                self._allow(["cloudformation:DescribeStacks"], [source], wildcards=STAGES),
                self._may(
                    "ssm:GetParameter", resource=f"parameter/triton/{promotes_from}/delivered"
                ),
            ]
        else:  # the record of deliveries
            record = f"{own}/{stage_record.FOLDER}*"
            statements.append(self._allow(["s3:PutObject"], [record], wildcards=BUCKETS))
        suffix = platform_facts.region(self.region).dns_suffix
        statements.append(
            self._allow(
                ["kms:Decrypt", "kms:GenerateDataKey"],
                [self.format_arn(service="kms", resource="key", resource_name="*")],
                {"StringEquals": {"kms:ViaService": f"s3.{self.region}.{suffix}"}},
                wildcards=BUCKETS,
            )
        )
        return statements

    def _builds(self, stage_name: str) -> iam.PolicyStatement:
        """Return what starts and watches builds, nothing of CodeBuild itself."""
        return self._allow(
            ["lambda:InvokeFunction"],
            [
                self.format_arn(
                    service="lambda",
                    resource="function",
                    resource_name=name,
                    arn_format=ArnFormat.COLON_RESOURCE_NAME,
                )
                for name in build_functions(stage_name)
            ],
        )

    def _preflight(self, stage_name: str) -> list[iam.PolicyStatement]:
        """What the first step of a delivery asks the account: it reads, and of these alone.

        Without one of them, its row says so and the delivery goes on. CloudFormation begins its own
        role's name with the stack's.
        """
        qualifier = DefaultStackSynthesizer.DEFAULT_QUALIFIER
        return [
            self._allow(ACCOUNT_WIDE, ["*"], wildcards=PREFLIGHT),
            self._may(
                *("cloudformation:GetTemplate", "cloudformation:ListStackResources"),
                resource=f"stack/{stage_name}-*",
                wildcards=STAGES,
            ),
            self._may("ssm:GetParameter", resource=f"parameter/cdk-bootstrap/{qualifier}/version"),
            self._may(
                "s3:GetEncryptionConfiguration",
                resource=f"cdk-{qualifier}-assets-{self.account}-{self.region}",
                region="",
                account="",
            ),
            self._may(
                "ecr:BatchGetImage",
                resource="repository/sagemaker-tritonserver",
                account="*",
                wildcards=PLACES,
            ),
            self._may(
                "logs:ListTagsForResource",
                resource=f"log-group:/aws/sagemaker/Endpoints/{stage_name}-*",
                wildcards=PLACES,
            ),
            self._may("sagemaker:ListTags", resource=f"endpoint/{stage_name}-*", wildcards=STAGES),
            self._may(
                "ssm:ListTagsForResource",
                resource=f"parameter/triton/{stage_name}/*",
                wildcards=STAGES,
            ),
            self._may(
                *("sns:GetTopicAttributes", "sns:ListTagsForResource"),
                resource=f"{stage_name}-alarms",
            ),
            self._may(
                *("iam:GetRole", "iam:SimulatePrincipalPolicy"),
                resource=f"role/{stage_name}-delivery-Deploy*",
                region="",
                wildcards=PLACES,
            ),
        ]

    def _may(
        self,
        *actions: str,
        resource: str,
        region: str | None = None,
        account: str | None = None,
        wildcards: str | None = None,
    ) -> iam.PolicyStatement:
        """Allow actions of one service on one of its resources, as an ARN ends with it."""
        arn = self.format_arn(
            service=actions[0].partition(":")[0],
            region=region,
            account=account,
            arn_format=ArnFormat.NO_RESOURCE_NAME,
            resource=resource,
        )
        return self._allow(list(actions), [arn], wildcards=wildcards)

    def _allow(
        self,
        actions: list[str],
        resources: list[str],
        conditions: dict[str, dict[str, str]] | None = None,
        *,
        wildcards: str | None = None,
    ) -> iam.PolicyStatement:
        """Allow actions on resources; `wildcards` is why these have some."""
        if wildcards:
            self._wildcards.setdefault(wildcards, []).extend(resources)
        return iam.PolicyStatement(actions=actions, resources=resources, conditions=conditions)

    def _model_bucket(self, stage_name: str) -> str:
        """Return the ARN of a stage's model bucket; CloudFormation adds to its name."""
        name = f"{stage_name}-models-modelsbucket*"
        return self.format_arn(service="s3", region="", account="", resource=name)
