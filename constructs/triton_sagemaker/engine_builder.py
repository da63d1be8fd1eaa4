"""Compiles TensorRT engines on a GPU while models are built."""

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
"""Why statements on them have wildcards."""
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
"""Condition keys of StartBuild: each is there where the request has the override."""


PULL = ("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer")


class EngineBuilder(Construct):
    """A CodeBuild project with one A10G, which takes a job from the bucket and leaves its result.

    Whoever starts a build overrides `image` by another tag of the same repository, or by one of
    `mirrors`, copies of such tags in ECR by release. They name the job's folder,
    `engine-jobs/HASH/job/`, as the source `job`, and `engine-jobs/HASH/raw` as the place of the
    artifacts. `source` is the program; its `buildspec` reads `CODEBUILD_SRC_DIR_job`.

    A build can read jobs and write results of jobs, and reaches nothing else in the account.

    CodeBuild's GPU SMALL has an A10G; its LARGE has V100s, which TensorRT 10.5 on refuses.
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
        # The CDK's GPU images are those of ECR alone.
        resource = self.project.node.default_child
        assert isinstance(resource, codebuild.CfnProject)
        resource.add_property_override("Environment.Type", "LINUX_GPU_CONTAINER")

        # No document says which prefix CodeBuild lists for a folder as its source.
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
        """Return the ARN of the repository of an image in ECR."""
        host, _, name = image.partition("@")[0].partition("/")
        account, _, _, region, *_ = host.split(".")
        return f"arn:{Stack.of(self).partition}:ecr:{region}:{account}:repository/{name}"

    def allow_run(self, role: iam.IRole) -> None:
        """Let the builds of another project start, watch and stop builds of this one.

        They choose the image's tag, the job and where its result goes: with StartBuild's other
        overrides, a build could have the GPU do anything. Sources: AWS CodeBuild condition keys
        (codebuild/latest/userguide/action-context-keys.html); the service authorization reference
        lists these for StartBuild.
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
