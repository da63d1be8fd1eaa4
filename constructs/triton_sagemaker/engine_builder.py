"""Builds of TensorRT engines on a GPU, in CodeBuild."""

from collections.abc import Mapping

from aws_cdk import Duration, Stack
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from platform_facts.rules.bucket_keys import ENGINE_JOBS
from triton_sagemaker.allow import Conditions, allow, allow_image_pulls
from triton_sagemaker.build_project import BuildProject, denied_overrides
from triton_sagemaker.model_bucket import ModelBucket
from triton_sagemaker.triton_container import ContainerImage

JOBS_WILDCARD_REASON = "Jobs and their results are named by their content."
"""Reason for the wildcards of statements about these objects."""


class EngineBuilder(Construct):
    """A CodeBuild project with one A10G GPU, which compiles the engine of a job in the bucket.

    A StartBuild request overrides `image` with another tag of the same repository, or with one of
    `mirrors` (release -> copy of the image in ECR). Its secondary source `job` is the folder of the
    job, `engine-jobs/HASH/job/`, and its artifacts location is `engine-jobs/HASH/raw`. `source` is
    the program, and `buildspec` reads the job from the folder `CODEBUILD_SRC_DIR_job`.

    A build can read jobs and write their results, and has no other permissions in the account.

    CodeBuild's SMALL GPU machine has an A10G. LARGE has V100s, which TensorRT 10.5 and newer do not
    support.
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
        # The CDK supports GPU images of ECR only.
        resource = self.project.node.default_child
        assert isinstance(resource, codebuild.CfnProject)
        resource.add_property_override("Environment.Type", "LINUX_GPU_CONTAINER")

        # It is not documented which prefix CodeBuild lists if a source is a folder.
        job_prefixes: Conditions = {"StringLike": {"s3:prefix": f"{ENGINE_JOBS}*"}}
        arn, role = bucket.bucket_arn, self._build.role
        jobs = bucket.arn_for_objects(f"{ENGINE_JOBS}*/job/*")
        results = bucket.arn_for_objects(f"{ENGINE_JOBS}*/raw/*")
        allow(role, ["s3:GetObject", "s3:GetObjectVersion"], [jobs], JOBS_WILDCARD_REASON)
        allow(role, ["s3:PutObject"], [results], JOBS_WILDCARD_REASON)
        allow(role, ["s3:ListBucket"], [arn], conditions=job_prefixes)
        allow(role, ["s3:GetBucketAcl", "s3:GetBucketLocation"], [arn])
        if self.mirrors:
            images = map(ContainerImage, self.mirrors.values())
            partition = Stack.of(self).partition
            for statement in allow_image_pulls(self._build, images, partition=partition):
                role.add_to_policy(statement)
        bucket.reserve_results(role.role_arn)

    def allow_run(self, role: iam.IRole) -> None:
        """Allow a role, such as that of another project's builds, to start, watch and stop builds.

        It may choose the tag of the image, the job and the artifacts location. The other overrides
        of StartBuild are denied, because they could run any code with the GPU project's role.
        """
        project = [self.project.project_arn]
        overrides: Conditions = {
            "Null": denied_overrides("environment.environmentVariables.name"),
            "StringLike": {"codebuild:environment.image": self._images},
        }
        allow(role, ["codebuild:StartBuild"], project, conditions=overrides)
        actions = ["codebuild:BatchGetBuilds", "codebuild:BatchGetProjects", "codebuild:StopBuild"]
        allow(role, actions, project)
        allow(role, ["logs:GetLogEvents"], [self._build.log.log_group_arn])
