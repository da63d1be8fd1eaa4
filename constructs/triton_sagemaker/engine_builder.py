"""A CodeBuild project that compiles TensorRT engines on a GPU."""

from collections.abc import Mapping

from aws_cdk import Duration, Stack
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from triton_sagemaker.allow import Conditions, allow
from triton_sagemaker.build_project import BuildProject
from triton_sagemaker.model_bucket import ENGINE_JOBS, ModelBucket

JOBS = "Jobs and their results are named by their content."
"""The reason for wildcards in statements about jobs."""
NEVER_OVERRIDDEN = (
    "encryptionKey",
    "environment.computeType",
    "environment.environmentVariables.name",
    "environment.fleet.fleetArn",
    "environment.privilegedMode",
    "environment.type",
    "serviceRole",
    "source.buildspec",
    "source.location",
)
"""Condition keys of StartBuild; a key is in the request context if the request overrides it."""


PULL = ("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer")


class EngineBuilder(Construct):
    """A CodeBuild project with an A10G GPU: it reads a job from `bucket` and writes the result.

    Arguments of StartBuild: an image (another tag of the repository of `image`, or one of
    `mirrors`, which maps a release to a copy of such a tag in ECR), a secondary source named `job`
    (`engine-jobs/HASH/job/`) and the location of the artifacts (`engine-jobs/HASH/raw`). `source`
    is the program; its `buildspec` reads `CODEBUILD_SRC_DIR_job`.

    Builds can read jobs and write results, and have no other access to the account.

    The compute type is SMALL because LARGE has V100 GPUs, which TensorRT 10.5 does not support.
    """

    QUEUE_TIMEOUT = Duration.hours(8)
    TIMEOUT = Duration.minutes(90)

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket: ModelBucket,
        source: s3_assets.Asset,
        buildspec: codebuild.BuildSpec,
        image: str,
        mirrors: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.mirrors = dict(mirrors or {})
        self._images = [f"{image.rpartition(':')[0]}:*", *self.mirrors.values()]
        self._build = BuildProject(
            self,
            "Project",
            description="Compiles one TensorRT engine",
            source=source,
            buildspec=buildspec,
            image=image,
            compute_type=codebuild.ComputeType.SMALL,
            key=bucket.key,
            queue_timeout=self.QUEUE_TIMEOUT,
            timeout=self.TIMEOUT,
            variables={},
        )
        self.project = self._build.project
        # The CDK accepts GPU images from ECR only.
        resource = self.project.node.default_child
        assert isinstance(resource, codebuild.CfnProject)
        resource.add_property_override("Environment.Type", "LINUX_GPU_CONTAINER")

        # It is not documented which prefix CodeBuild lists for a source that is a folder.
        listed = {"StringLike": {"s3:prefix": f"{ENGINE_JOBS}*"}}
        arn, role, job = bucket.bucket_arn, self._build.role, f"{ENGINE_JOBS}*/job/*"
        results = bucket.arn_for_objects(f"{ENGINE_JOBS}*/raw/*")
        allow(role, ["s3:GetObject", "s3:GetObjectVersion"], [bucket.arn_for_objects(job)], JOBS)
        allow(role, ["s3:PutObject"], [results], JOBS)
        allow(role, ["s3:ListBucket"], [arn], conditions=listed)
        allow(role, ["s3:GetBucketAcl", "s3:GetBucketLocation"], [arn])
        if self.mirrors:  # CodeBuild user guide, sample-ecr
            allow(role, ["ecr:GetAuthorizationToken"], ["*"], "The token knows no resources.")
            repositories = [self._repository(image) for image in self.mirrors.values()]
            allow(role, PULL, repositories)
        bucket.reserve_results(role.role_arn)

    def _repository(self, image: str) -> str:
        """Return the ARN of the ECR repository of an image."""
        host, _, name = image.partition("@")[0].partition("/")
        account, _, _, region, *_ = host.split(".")
        return f"arn:{Stack.of(self).partition}:ecr:{region}:{account}:repository/{name}"

    def allow_run(self, role: iam.IRole) -> None:
        """Allow the role of another project to start, watch and stop builds of this project.

        It may override the image tag, the job and the location of the result only: with other
        overrides, a build could run any program on the GPU. Source of the condition keys: CodeBuild
        user guide, action-context-keys, and the service authorization reference, StartBuild.
        """
        project = [self.project.project_arn]
        overrides: Conditions = {
            "Null": {f"codebuild:{override}": "true" for override in NEVER_OVERRIDDEN},
            "StringLike": {"codebuild:environment.image": self._images},
        }
        allow(role, ["codebuild:StartBuild"], project, conditions=overrides)
        actions = ["codebuild:BatchGetBuilds", "codebuild:BatchGetProjects", "codebuild:StopBuild"]
        allow(role, actions, project)
        allow(role, ["logs:GetLogEvents"], [self._build.log.log_group_arn])
