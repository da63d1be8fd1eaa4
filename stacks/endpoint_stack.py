"""The stack of an endpoint and its models."""

from pathlib import Path

from aws_cdk import (
    Annotations,
    AssetHashType,
    CfnOutput,
    CustomResource,
    DefaultStackSynthesizer,
    Environment,
    Stack,
)
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_sns as sns
from constructs import Construct

from model_build.digest import IGNORED
from plan.document import DIGEST_OUTPUT, ENDPOINT_KEY
from stacks import settings
from stacks.existing import Network
from stacks.model_stack import ModelStack, alarm_topic_name, asset_prefix
from stacks.variants import variant
from stages import StageConfig
from stages.plan import EndpointPlan
from triton_sagemaker import (
    EndpointUpdateChecks,
    ModelCatalog,
    ModelEntry,
    TritonEndpoint,
)


class EndpointStack(Stack):
    """Builds of the models, the endpoint, and the catalog entries of its models.

    CloudFormation deploys them in this order: an endpoint is updated to a new release after all its
    models are built for it, and clients get a new archive after the endpoint can serve it.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage_name: str,
        stage: StageConfig,
        plan: EndpointPlan,
        models: ModelStack,
        network: Network | None,
        captured: s3.IBucket | None = None,
        env: Environment,
    ) -> None:
        prefix = asset_prefix(stage_name)
        synthesizer = DefaultStackSynthesizer(bucket_prefix=prefix)
        super().__init__(scope, construct_id, env=env, synthesizer=synthesizer)
        self._plan, self._models, config = plan, models, plan.config
        part = plan.document().settings
        self.add_metadata(ENDPOINT_KEY, part.metadata())
        CfnOutput(self, DIGEST_OUTPUT, value=part.digest)
        for model_plan in plan.models:
            servers = plan.mode.max_servers(config, model_plan.name)
            max_instances = max(servers, len(plan.variants))
            if warning := model_plan.instance_warning(max_instances=max_instances):
                Annotations.of(self).add_warning_v2("stateful-model", warning)
        builds = self._create_builds()
        catalog = ModelCatalog(self, "Catalog", stage=stage_name, endpoint=plan.short_name)
        capture_prefix = plan.short_name  # in the stage's own bucket
        if models.existing.captured:
            capture_prefix = f"{stage_name}/{plan.short_name}"
        self.endpoint = TritonEndpoint(
            self,
            "Endpoint",
            update_checks=EndpointUpdateChecks(
                checks=models.update_checks,
                catalog=catalog.name,
                archives=[model for entry in plan.catalog if (model := entry["target_model"])],
            ),
            data_capture=settings.data_capture(config, captured, prefix=capture_prefix),
            detailed_observability=config.detailed_observability,
            encryption_key=models.bucket.key if plan.has_volumes else None,
            endpoint_name=plan.name,
            log=models.logs[plan.short_name],
            role=models.existing.role,
            security_groups=network.security_groups if network else [],
            vpc=network.vpc if network else None,
            vpc_subnets=network.subnets if network else None,
            rollback_error_rate=config.update.rollback_error_rate,
            update=settings.update(config.update),
            variants=[variant(variant_plan, plan, models.bucket) for variant_plan in plan.variants],
        )
        by_key = {archive.key: build for archive, build in zip(plan.archives, builds, strict=True)}
        for variant_models in self.endpoint.models.values():
            for location, model in variant_models.items():  # location: key of an archive, or prefix
                dependencies = [by_key[location]] if location in by_key else builds
                model.node.add_dependency(*dependencies)
        if config.scaling:
            for endpoint_variant in self.endpoint.instance_production_variants:
                count = endpoint_variant.auto_scale_instance_count(
                    min_capacity=config.scaling.min_count, max_capacity=config.scaling.max_count
                )
                settings.add_instance_scaling(count, config.scaling)
        for component in self.endpoint.components:
            settings.add_copy_scaling(component, (config.components or {})[component.model].copies)
        if stage.production:
            self.endpoint.monitor(
                settings.thresholds(config.alarms),
                topics=self._topics(stage_name, stage),
                client_metrics=plan.client_metrics_namespace,
            )
        # Only after the update check, which depends on the builds and the endpoint: a failed
        # dashboard must not keep clients on old archives.
        catalog.publish(
            [ModelEntry(**entry) for entry in plan.catalog],
            writer=models.catalog_writer,
            after=[self.endpoint.updated],
        )

    def _create_builds(self) -> list[CustomResource]:
        """Return the builds of the plan's archives, in their order."""
        builds = []
        sources = {
            model.name: model_source(
                self, f"{model.name}-source", folder=model.folder, digest=model.digest
            )
            for model in self._plan.models
        }
        for archive in self._plan.archives:
            model, target = archive.model, archive.target
            build = self._models.builder.build(
                self,
                f"{model.name}-{target.processor}{target.compute_capability or ''}",
                model=model.name,
                alternative=model.alternative or "",
                digest=model.digest,
                target=str(target),
                key=archive.key,
                source=sources[model.name],
            )
            builds.append(build)
        return builds

    def _topics(self, stage_name: str, stage: StageConfig) -> list[sns.ITopic]:
        """Return the SNS topics to notify: the stage's own topic and `notify.topics`.

        The stage's topic is imported by name, because an export in use could not be removed.
        """
        arns = list(stage.notify.topics)
        if stage.notify.email:
            arns.append(self.format_arn(service="sns", resource=alarm_topic_name(stage_name)))
        return [
            sns.Topic.from_topic_arn(self, f"Topic{number}", arn) for number, arn in enumerate(arns)
        ]


def model_source(
    scope: Construct, construct_id: str, *, folder: Path, digest: str
) -> s3_assets.Asset:
    """Return the asset of a model's source: the files that are part of its digest."""
    return s3_assets.Asset(
        scope,
        construct_id,
        path=str(folder),
        asset_hash=digest,
        asset_hash_type=AssetHashType.CUSTOM,
        exclude=[*IGNORED, *(f"**/{pattern}" for pattern in IGNORED)],
    )
