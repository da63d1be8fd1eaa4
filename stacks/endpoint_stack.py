"""What changes: one endpoint with the models that it serves."""

import itertools
from functools import cache
from pathlib import Path

from aws_cdk import AssetHashType, DefaultStackSynthesizer, Environment, Stack
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_sns as sns
from constructs import Construct

import checked_yaml
import platform_facts
from model_build import (
    BuildError,
    BuildTarget,
    ModelNotFound,
    ModelPlan,
    find_model,
    plan_model,
)
from model_build.digest import IGNORED
from stacks import settings
from stacks.model_stack import ModelStack, alarm_topic_name, asset_prefix
from stacks.network_stack import NetworkStack
from stages import EndpointStage, ScalingStage, Stage
from triton_sagemaker import (
    BuiltModel,
    CaptureBucket,
    CatalogEntry,
    CheckedUpdates,
    DataCapture,
    HostingMode,
    Instances,
    ModelCatalog,
    MultiModelHosting,
    PublishedMetrics,
    SingleModelHosting,
    TritonContainer,
    TritonEndpoint,
    Variant,
    metrics_log_name,
)

MODELS = Path(__file__).parent.parent / "models"


class EndpointStack(Stack):
    """The models of an endpoint, the endpoint, and the catalog entries that name its models.

    Deployed in this order: the endpoint takes over a new release only when every model is built
    for it, and clients are sent to a new archive only when the endpoint can serve it. `python` is
    the version that Python models run in, where it may be another than in the release's image.
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
        network: NetworkStack | None,
        captured: CaptureBucket | None = None,
        python: str | None = None,
        env: Environment,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            env=env,
            synthesizer=DefaultStackSynthesizer(bucket_prefix=asset_prefix(stage_name)),
        )
        self._short_name = endpoint_name
        self._endpoint_name = f"{stage_name}-{endpoint_name}"
        self._stage, self._settings, self._models = stage, endpoint, models
        self._release, self._python = platform_facts.release(stage.release), python
        self._plans = self._plan_all()

        built = self._build_all()
        catalog = ModelCatalog(self, "Catalog", stage=stage_name, endpoint=endpoint_name)
        variants = [self._variant(name) for name in endpoint.variants]
        self._hosting_mode = variants[0].hosting  # the others' is of the same mode
        self.endpoint = TritonEndpoint(
            self,
            "Endpoint",
            checked=CheckedUpdates(
                checks=models.update_checks, catalog=catalog.prefix, archives=self._named_archives()
            ),
            data_capture=self._data_capture(captured),
            detailed_observability=endpoint.detailed_observability,
            encryption_key=models.bucket.key if self._has_volumes() else None,
            endpoint_name=self._endpoint_name,
            log=models.logs[endpoint_name],
            security_groups=[network.security_group] if network else None,
            vpc=network.vpc if network else None,
            rollback_error_rate=endpoint.update.rollback_error_rate,
            update=settings.update(endpoint.update),
            variants=variants,
        )
        for model in self.endpoint.models.values():
            model.node.add_dependency(*itertools.chain.from_iterable(built.values()))
        if endpoint.scaling:
            self._scale(endpoint.scaling)
        if stage.production:
            self.endpoint.monitor(
                settings.thresholds(endpoint.alarms), topics=self._topics(stage_name)
            )
        self._publish(catalog, built)

    def _plan_all(self) -> list[ModelPlan]:
        plans, unknown = list[ModelPlan](), list[tuple[checked_yaml.Keys, str]]()
        for number, name in enumerate(self._settings.models):
            try:
                plans.append(_plan(name))
            except ModelNotFound as error:
                unknown.append((self._place_of_model(number), str(error)))
        if unknown:
            raise checked_yaml.Misfits(unknown)
        return plans

    def _place_of_model(self, number: int) -> checked_yaml.Keys:
        return ("endpoints", self._short_name, "models", number)

    def _build_all(self) -> dict[str, list[BuiltModel]]:
        """Return the builds by model: one for each kind of GPU, however many variants share it."""
        targets = {str(it): it for it in map(self._target, self._settings.variants)}
        return {
            plan.name: [self._build(plan, source, target) for target in targets.values()]
            for plan, source in zip(self._plans, map(self._source, self._plans), strict=True)
        }

    def _build(self, plan: ModelPlan, source: s3_assets.Asset, target: BuildTarget) -> BuiltModel:
        try:
            plan.check_target(target, builder=self._gpu_of_builds())
        except BuildError as error:
            place = self._place_of_model(self._plans.index(plan))
            raise checked_yaml.Misfits([(place, str(error))]) from None
        return self._models.builder.build(
            self,
            f"{plan.name}-{target.processor}{target.compute_capability or ''}",
            model=plan.name,
            alternative=plan.alternative or "",
            digest=plan.digest,
            target=str(target),
            key=f"{self._prefix(target)}{plan.target_model}",
            source=source,
        )

    def _gpu_of_builds(self) -> platform_facts.ComputeCapability | None:
        """Return the compute capability on which engines are compiled, None where there is none."""
        if not platform_facts.region(self._stage.region).codebuild_gpu:
            return None
        return platform_facts.codebuild_gpu().compute_capability

    def _source(self, plan: ModelPlan) -> s3_assets.Asset:
        return source_of(self, f"{plan.name}-source", folder=plan.folder, digest=plan.digest)

    def _variant(self, name: str) -> Variant:
        instance_type = self._instance_type(name)
        return Variant(
            name=name,
            weight=self._settings.variants[name].weight,
            container=TritonContainer(
                release=self._release,
                environment=self._settings.environment,
                options=settings.server_options(self._settings.server, self._published_metrics()),
            ),
            hosting=self._hosting(self._prefix(self._target(name))),
            instances=Instances(
                instance_type=instance_type, initial_count=self._settings.instance_count
            ),
        )

    def _published_metrics(self) -> PublishedMetrics | None:
        """Triton's own metrics, in a namespace of the endpoint's."""
        if not self._settings.publish_metrics:
            return None
        return PublishedMetrics(
            log_group=metrics_log_name(self._endpoint_name),
            namespace=f"Triton/{self._endpoint_name}",
        )

    def _data_capture(self, captured: CaptureBucket | None) -> DataCapture | None:
        """What is recorded, below the endpoint's short name."""
        wanted = self._settings.data_capture
        if wanted is None or captured is None:
            return None
        return DataCapture(
            bucket=captured,
            encryption_key=captured.key,
            percent=wanted.percent,
            prefix=self._short_name,
            requests=wanted.requests,
            responses=wanted.responses,
        )

    def _hosting(self, prefix: str) -> HostingMode:
        bucket = self._models.bucket
        match self._settings.hosting:
            case "multi-model":
                return MultiModelHosting(
                    bucket=bucket, prefix=prefix, cache_models=self._settings.cache_models
                )
            case "single-model":
                (plan,) = self._plans
                key = f"{prefix}{plan.target_model}"
                return SingleModelHosting(bucket=bucket, key=key, default_model=plan.entry)

    def _scale(self, scaling: ScalingStage) -> None:
        for variant in self.endpoint.instance_production_variants:
            count = variant.auto_scale_instance_count(
                min_capacity=scaling.min_count, max_capacity=scaling.max_count
            )
            settings.scale(count, scaling)

    def _topics(self, stage_name: str) -> list[sns.ITopic]:
        """Return where alarms are told: the stage's own topic, and those that it names.

        The own one by its name, and not by an export: one in use could never be given up.
        """
        arns = list(self._stage.notify.topics)
        if self._stage.notify.email:
            arns.append(self.format_arn(service="sns", resource=alarm_topic_name(stage_name)))
        return [
            sns.Topic.from_topic_arn(self, f"Told{number}", arn) for number, arn in enumerate(arns)
        ]

    def _named_archives(self) -> list[str]:
        """Return what clients will name as `TargetModel`."""
        named = (self._hosting_mode.target_model(plan.target_model) for plan in self._plans)
        return [it for it in named if it]

    def _publish(self, catalog: ModelCatalog, built: dict[str, list[BuiltModel]]) -> None:
        """Name the models' archives current.

        An entry depends on its own builds and on the check alone: a dashboard that fails must not
        keep clients on old archives, and the template grows linearly with its models.
        """
        for number, plan in enumerate(self._plans):
            entry = CatalogEntry(
                model=plan.name,
                version=plan.version,
                endpoint=self.endpoint.endpoint_name,
                target_model=self._hosting_mode.target_model(plan.target_model),
                signature=plan.signature.model_dump(),
            )
            try:
                catalog.publish(entry, after=[*built[plan.name], self.endpoint.updated])
            except ValueError as error:
                raise checked_yaml.Misfits([(self._place_of_model(number), str(error))]) from None

    def _instance_type(self, variant: str) -> platform_facts.InstanceType:
        return platform_facts.instance_type(self._settings.variant_instance_type(variant))

    def _target(self, variant: str) -> BuildTarget:
        gpu = self._instance_type(variant).gpu
        target = BuildTarget(
            release=self._release.name,
            compute_capability=str(gpu.compute_capability) if gpu else None,
        )
        return target if self._python is None else target.run_in(self._python)

    def _has_volumes(self) -> bool:
        """Types with NVMe storage have no volume to encrypt, and SageMaker may refuse a key."""
        return not any(self._instance_type(name).local_nvme for name in self._settings.variants)

    def _prefix(self, target: BuildTarget) -> str:
        return f"{self._short_name}/{target}/"


def source_of(scope: Construct, construct_id: str, *, folder: Path, digest: str) -> s3_assets.Asset:
    """Return the asset that a model's builds on AWS are given: the files that its digest counts."""
    return s3_assets.Asset(
        scope,
        construct_id,
        path=str(folder),
        asset_hash=digest,
        asset_hash_type=AssetHashType.CUSTOM,
        exclude=[*IGNORED, *(f"**/{pattern}" for pattern in IGNORED)],
    )


@cache
def _plan(model: str) -> ModelPlan:
    """Read and check a model once, however many endpoints serve it."""
    return plan_model(find_model(MODELS, model))
