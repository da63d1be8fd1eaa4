"""What changes: one endpoint with the models that it serves."""

from pathlib import Path

from aws_cdk import AssetHashType, Environment, Stack
from aws_cdk import aws_s3_assets as s3_assets

import platform_facts
from constructs import Construct
from model_build import BuildTarget, ModelPlan, plan_model
from model_build.digest import IGNORED
from stacks.model_stack import ModelStack
from stages import EndpointStage, Stage
from triton_sagemaker import (
    BuildEnvironment,
    BuiltModel,
    CatalogEntry,
    Instances,
    ModelCatalog,
    MultiModelHosting,
    TritonContainer,
    TritonEndpoint,
)

MODELS = Path(__file__).parent.parent / "models"


class EndpointStack(Stack):
    """The models of an endpoint, the endpoint, and the catalog entries that name its models.

    Deployed in this order: the endpoint takes over a new release only when every model is built
    for it, and clients are sent to a new archive only when the endpoint can serve it.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage_name: str,
        stage: Stage,
        endpoint_name: str,
        endpoint: EndpointStage,
        models: ModelStack,
        env: Environment,
    ) -> None:
        super().__init__(scope, construct_id, env=env)
        self._release = platform_facts.release(stage.release)
        self._instance_type = platform_facts.instance_type(endpoint.instance_type)
        self._target = _target(self._release, self._instance_type)
        self._prefix = f"{endpoint_name}/{self._target}/"

        plans = [plan_model(MODELS / name) for name in endpoint.models]
        built = [self._build(plan, models) for plan in plans]
        self.endpoint = self._endpoint(
            name=f"{stage_name}-{endpoint_name}", stage=stage, endpoint=endpoint, models=models
        )
        self.endpoint.model.node.add_dependency(*built)
        self._publish(plans, built, stage_name, endpoint_name)

    def _build(self, plan: ModelPlan, models: ModelStack) -> BuiltModel:
        source = s3_assets.Asset(
            self,
            f"{plan.name}-source",
            path=str(plan.folder),
            asset_hash=plan.digest,
            asset_hash_type=AssetHashType.CUSTOM,
            exclude=[*IGNORED, *(f"**/{pattern}" for pattern in IGNORED)],
        )
        return models.builder.build(
            self,
            f"{plan.name}-archive",
            model=plan.name,
            digest=plan.digest,
            target=str(self._target),
            key=f"{self._prefix}{plan.target_model}",
            source=source,
            environment=self._build_environment(),
        )

    def _build_environment(self) -> BuildEnvironment:
        if self._target.processor == "cpu":
            return BuildEnvironment.cpu()
        return BuildEnvironment.gpu(ngc_tag=self._release.builder_tag)

    def _endpoint(
        self, *, name: str, stage: Stage, endpoint: EndpointStage, models: ModelStack
    ) -> TritonEndpoint:
        processor = platform_facts.Processor.GPU if self._instance_type.gpu else "cpu"
        return TritonEndpoint(
            self,
            "Endpoint",
            endpoint_name=name,
            container=TritonContainer(
                release=self._release,
                region=platform_facts.region(stage.region),
                processor=platform_facts.Processor(processor),
            ),
            hosting=MultiModelHosting(bucket=models.bucket, prefix=self._prefix),
            instances=Instances(
                instance_type=self._instance_type, initial_count=endpoint.instance_count
            ),
        )

    def _publish(
        self, plans: list[ModelPlan], built: list[BuiltModel], stage_name: str, endpoint_name: str
    ) -> None:
        catalog = ModelCatalog(self, "Catalog", stage=stage_name, endpoint=endpoint_name)
        for plan, archive in zip(plans, built, strict=True):
            catalog.publish(
                CatalogEntry(
                    model=plan.name,
                    version=plan.version,
                    endpoint=self.endpoint.endpoint_name,
                    target_model=plan.target_model,
                    signature=plan.signature.model_dump(),
                ),
                after=[archive, self.endpoint],
            )


def _target(
    release: platform_facts.Release, instance_type: platform_facts.InstanceType
) -> BuildTarget:
    gpu = instance_type.gpu
    return BuildTarget(
        release=release.name,
        compute_capability=str(gpu.compute_capability) if gpu else None,
    )
