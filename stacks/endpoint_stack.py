"""The stack of an endpoint and its models."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from aws_cdk import (
    Annotations,
    AssetHashType,
    CfnOutput,
    DefaultStackSynthesizer,
    Environment,
    Stack,
    SymlinkFollowMode,
)
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_sns as sns
from constructs import Construct

import platform_facts
from model_build import CheckedModel, metrics_warnings
from model_build.source import ModelFolder
from plan.document import DIGEST_OUTPUT, ENDPOINT_KEY, EndpointSettings, PlannedEndpoint
from platform_facts.rules.builds import asset_hash, asset_prefix
from stacks import settings
from stacks.existing import Network
from stacks.model_stack import ModelStack, alarm_topic_name
from stacks.variants import variants
from stages.plan import PlannedStage
from triton_sagemaker import (
    EndpointUpdateChecks,
    ModelCatalog,
    TritonEndpoint,
)

CLIENT_NAMESPACE = "Triton/Client"
"""The default namespace of `endpoint_client.metrics`; copied, to avoid the import."""


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
        stage: PlannedStage,
        endpoint: str,
        models: ModelStack,
        network: Network | None,
        captured: s3.IBucket | None = None,
        env: Environment,
    ) -> None:
        plan = stage.plan
        synthesizer = DefaultStackSynthesizer(bucket_prefix=asset_prefix(plan.stage))
        super().__init__(scope, construct_id, env=env, synthesizer=synthesizer)
        planned, config = plan.endpoints[endpoint], stage.config.endpoints[endpoint]
        part, self._models = planned.settings, models
        self.add_metadata(ENDPOINT_KEY, part.metadata())
        CfnOutput(self, DIGEST_OUTPUT, value=part.digest)
        for name in planned.models:
            # Each variant has at least one instance.
            max_servers = max(len(part.variants), *_server_counts(part, name))
            if warning := stage.models[name].instance_warning(max_instances=max_servers):
                Annotations.of(self).add_warning_v2("stateful-model", warning)
        if part.metrics_namespace:
            for warning in metrics_warnings(stage.models[name] for name in planned.models):
                Annotations.of(self).add_warning_v2("published-metrics", warning)
        self._add_sources(planned, stage.models)
        locations = [f"{models.bucket.bucket_name}/{prefix}" for prefix in sorted(part.prefixes)]
        items = planned.build_items()
        builds = models.builder.build_all(self, "Archives", items, keep_failed=part.keeps_models)
        catalog = ModelCatalog(
            self,
            "Catalog",
            stage=plan.stage,
            endpoint=endpoint,
            entries=[model.catalog for model in planned.models.values()],
            archives=locations if part.keeps_models else (),
            is_checked=True,
        )
        capture_prefix = endpoint  # in the stage's own bucket
        if models.existing.captured:
            capture_prefix = f"{plan.stage}/{endpoint}"
        types = {name for variant in part.variants.values() for name in variant.instance_types}
        # Types with NVMe storage have no EBS volumes to encrypt.
        has_volumes = not any(platform_facts.instance_type(name).local_nvme for name in types)
        self.endpoint = TritonEndpoint(
            self,
            "Endpoint",
            update_checks=EndpointUpdateChecks(checks=models.update_checks, catalog=catalog),
            data_capture=settings.data_capture(config, captured, prefix=capture_prefix),
            detailed_observability=config.detailed_observability,
            encryption_key=models.bucket.key if has_volumes else None,
            endpoint_name=part.name,
            is_checked=True,  # by the schema of the stage, and its plan
            log=models.logs[endpoint],
            role=models.existing.role,
            security_groups=network.security_groups if network else [],
            vpc=network.vpc if network else None,
            vpc_subnets=network.subnets if network else None,
            rollback_error_rate=config.update.rollback_error_rate,
            update=settings.update(config.update),
            variants=variants(planned, config, plan.release, models.bucket),
        )
        for variant_models in self.endpoint.models.values():
            for model in variant_models.values():
                model.node.add_dependency(builds)
        if config.scaling:
            for endpoint_variant in self.endpoint.instance_production_variants:
                count = endpoint_variant.auto_scale_instance_count(
                    min_capacity=config.scaling.min_count, max_capacity=config.scaling.max_count
                )
                settings.add_instance_scaling(count, config.scaling)
        for component in self.endpoint.components:
            settings.add_copy_scaling(component, (config.components or {})[component.model].copies)
        if stage.config.production:
            self.endpoint.monitor(
                settings.thresholds(config.alarms),
                topics=self._topics(stage),
                client_metrics=CLIENT_NAMESPACE if config.client_metrics else None,
            )
        # Only after the update check, which depends on the builds and the endpoint: a failed
        # dashboard must not keep clients on old archives.
        catalog.publish(writer=models.catalog_writer, after=[self.endpoint.updated])

    def _add_sources(self, planned: PlannedEndpoint, sources: Mapping[str, CheckedModel]) -> None:
        """Add the assets with the models' folders; alternatives of one recipe share a folder."""
        assets = defaultdict[str, dict[str, ModelFolder]](dict)
        for name, model in planned.models.items():
            folder = sources[name].source.shared
            assets[model.source][folder.path.name] = folder
        group = Construct(self, "Sources")
        for number, (key, folders) in enumerate(assets.items()):
            asset = sources_asset(group, str(number), folders.values())
            assert asset.s3_object_key == key, (asset.s3_object_key, key)

    def _topics(self, stage: PlannedStage) -> list[sns.ITopic]:
        """Return the SNS topics to notify: the stage's own topic and `notify.topics`.

        The stage's topic is imported by name, because an export in use could not be removed.
        """
        arns = list(stage.config.notify.topics)
        if stage.config.notify.email:
            arns.append(self.format_arn(service="sns", resource=alarm_topic_name(stage.plan.stage)))
        return [
            sns.Topic.from_topic_arn(self, f"Topic{number}", arn) for number, arn in enumerate(arns)
        ]


def _server_counts(settings: EndpointSettings, model: str) -> list[int]:
    """Return the maximum numbers of instances of the variants, or of copies of the model."""
    if component := settings.components.get(model):
        return [component.copies.maximum]
    return [variant.instances.maximum for variant in settings.variants.values()]


def sources_asset(
    scope: Construct, construct_id: str, folders: Iterable[ModelFolder]
) -> s3_assets.Asset:
    """Return an asset with folders of models: the files that builds get."""
    with TemporaryDirectory() as scratch:
        digests = dict[str, str]()
        for folder in folders:
            digests[folder.path.name] = folder.digest
            for file in folder.source_files:
                link = Path(scratch, folder.path.name, file.relative_to(folder.path))
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(file.resolve())
        return s3_assets.Asset(
            scope,
            construct_id,
            path=scratch,
            asset_hash=asset_hash(digests),
            asset_hash_type=AssetHashType.CUSTOM,
            follow_symlinks=SymlinkFollowMode.ALWAYS,
        )
