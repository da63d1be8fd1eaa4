"""The plan of a stage's endpoints and models: variants, archives, catalog entries.

A plan is computed from files only, without the CDK.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import platform_facts
from model_build import (
    BuildError,
    BuildTarget,
    ModelNotFound,
    ModelPlan,
    find_model,
    plan_model,
)
from plan.document import (
    EndpointSettings,
    Plan,
    PlannedArchive,
    PlannedEndpoint,
    PlannedModel,
    PlannedPool,
    PlannedVariant,
    models_digest,
)
from platform_facts.rules import Violation, checked_yaml, monitoring, prefix_violations
from platform_facts.rules.catalog import check_catalog_entry
from platform_facts.rules.server import check_decoupled_model
from stages.hosting import MODES, StageHosting
from stages.load import at_lines_of_stage, load_stage
from stages.schema.endpoint import EndpointConfig
from stages.schema.stage import StageConfig
from stages.time_budget import time_budget

_TYPED_KEYS = {
    *("models", "hosting", "instance_type", "instance_types", "components", "instances"),
    *("instance_count", "variants"),
}
"""Keys of an endpoint that the plan has as fields of variants, components and models."""
_TYPED_STAGE_KEYS = {
    *("account", "region", "release", "production", "max_monthly_usd", "endpoints")
}
MODELS = Path(__file__).parent.parent / "models"

CLIENT_NAMESPACE = "Triton/Client"
"""The default namespace of `endpoint_client.metrics`; copied, to avoid the import."""


@cache
def planned_model(name: str) -> ModelPlan:
    """Return the plan of a model; cached, because several endpoints may serve it."""
    return plan_model(find_model(MODELS, name))


@dataclass(frozen=True, kw_only=True)
class PoolPlan:
    """Instances of one type; they load archives of `target` below `prefix`."""

    instance_type: platform_facts.InstanceType
    target: BuildTarget
    prefix: str


@dataclass(frozen=True, kw_only=True)
class VariantPlan:
    """A production variant; the first pool is the preferred one."""

    name: str
    weight: float
    pools: tuple[PoolPlan, ...]


@dataclass(frozen=True, kw_only=True)
class ArchivePlan:
    """An archive of a model for one kind of instance, at `key` of the model bucket."""

    model: ModelPlan
    target: BuildTarget
    key: str

    @property
    def engines(self) -> tuple[str, ...]:
        """The engine files that TensorRT compiles; empty for a CPU target."""
        return self.model.engines if self.target.compute_capability else ()


@dataclass(frozen=True, kw_only=True)
class EndpointPlan:
    """An endpoint.

    `short_name` is the key in the stage file (`text`), `full_name` the name of the stack
    (`prod-text`), `name` the SageMaker endpoint name.
    """

    short_name: str
    full_name: str
    name: str
    release: platform_facts.Release
    region: platform_facts.Region
    config: EndpointConfig
    models: tuple[ModelPlan, ...]
    variants: tuple[VariantPlan, ...]

    @classmethod
    def of(
        cls,
        stage_name: str,
        stage: StageConfig,
        short_name: str,
        models: Iterable[ModelPlan],
        python: str | None,
    ) -> Self:
        """Return the plan of an endpoint that serves `models`."""
        config, variants = stage.endpoints[short_name], []
        full_name = f"{stage_name}-{short_name}"
        release = platform_facts.release(stage.release)
        for name, variant in config.variants.items():
            pools = []
            for type_name in config.variant_instance_types(name):
                instance_type = platform_facts.instance_type(type_name)
                gpu = instance_type.gpu
                capability = str(gpu.compute_capability) if gpu else None
                target = BuildTarget(release=release.name, compute_capability=capability)
                if python is not None:
                    target = target.with_python(python)
                prefix = f"{short_name}/{target}/"
                pools.append(PoolPlan(instance_type=instance_type, target=target, prefix=prefix))
            variants.append(VariantPlan(name=name, weight=variant.weight, pools=tuple(pools)))
        return cls(
            short_name=short_name,
            full_name=full_name,
            name=MODES[config.hosting].endpoint_name(full_name, config),
            release=release,
            region=platform_facts.region(stage.region),
            config=config,
            models=tuple(models),
            variants=tuple(variants),
        )

    @property
    def mode(self) -> StageHosting:
        """The hosting mode."""
        return MODES[self.config.hosting]

    @property
    def pools(self) -> Iterator[PoolPlan]:
        """The pools of all variants."""
        return (pool for variant in self.variants for pool in variant.pools)

    @property
    def archives(self) -> list[ArchivePlan]:
        """The archives: one for each model and target; variants with one target share them."""
        prefixes = {pool.prefix: pool.target for pool in self.pools}
        return [
            ArchivePlan(model=model, target=target, key=f"{prefix}{model.target_model}")
            for model in self.models
            for prefix, target in prefixes.items()
        ]

    @property
    def catalog(self) -> list[dict[str, Any]]:
        """The catalog entries of the models, for clients."""
        mode = self.mode
        return [
            {
                "model": model.name,
                "version": model.version,
                "endpoint": self.name,
                **mode.catalog_fields(model.name, model.target_model, self.full_name, self.config),
                "signature": model.signature.model_dump(),
            }
            for model in self.models
        ]

    @property
    def metrics_namespace(self) -> str | None:
        """The CloudWatch namespace of Triton's metrics, None if they are not published."""
        return f"Triton/{self.name}" if self.config.publish_metrics else None

    @property
    def client_metrics_namespace(self) -> str | None:
        """The namespace of client metrics for the dashboard, None if it does not show them."""
        return CLIENT_NAMESPACE if self.config.client_metrics else None

    @property
    def has_volumes(self) -> bool:
        """Whether the instances have EBS volumes to encrypt; types with NVMe storage have none."""
        return not any(pool.instance_type.local_nvme for pool in self.pools)

    @property
    def max_hourly_usd(self) -> float | None:
        """The price of all instances at the maximum of scaling, None if a type has no price."""
        count = self.mode.max_instances(self.config)
        price_of, usd = platform_facts.prices().of, 0.0
        for variant in self.variants:
            prices = [price_of(self.region.name, pool.instance_type.name) for pool in variant.pools]
            known_prices = [price for price in prices if price is not None]
            if len(known_prices) < len(prices):
                return None
            usd += count * max(known_prices)
        return usd

    @property
    def max_update_seconds(self) -> int:
        """The maximum duration of an update in seconds, at the maximum instance count."""
        return self.mode.max_update_seconds(self.config)

    def problems(self) -> Iterator[Violation]:
        """Yield models that cannot be built, served or stored in the catalog."""
        builder = platform_facts.codebuild_gpu().compute_capability
        for archive in self.archives:
            keys = ("models", self.models.index(archive.model))
            try:
                archive.model.check_target(
                    archive.target, builder=builder if self.region.codebuild_gpu else None
                )
            except BuildError as error:
                yield Violation(keys, str(error))
        inference_type = self.config.server.inference_type
        for number, model in enumerate(self.models):
            rule = check_decoupled_model.at("models", number)
            yield from rule(model.name, model.is_decoupled, inference_type)
        for number, entry in enumerate(self.catalog):
            text = json.dumps(entry, separators=(",", ":"))
            yield from check_catalog_entry.at("models", number)(entry["model"], text)

    def document(self) -> PlannedEndpoint:
        """Return the endpoint's part of the plan."""
        config, limits = self.config, self.mode.instance_limits(self.config)
        models = {
            model.name: PlannedModel(
                version=model.version,
                digest=model.digest,
                archives={
                    archive.key: PlannedArchive(target=str(archive.target), engines=archive.engines)
                    for archive in self.archives
                    if archive.model is model
                },
                catalog=entry,
                default_model=None if config.hosting == "multi-model" else model.entry,
                is_stateful=model.is_stateful,
            )
            for model, entry in zip(self.models, self.catalog, strict=True)
        }
        return PlannedEndpoint(
            settings=EndpointSettings(
                name=self.name,
                stack=self.full_name,
                hosting=config.hosting,
                variants={
                    variant.name: PlannedVariant(
                        weight=variant.weight,
                        pools=tuple(
                            PlannedPool(
                                instance_type=pool.instance_type.name,
                                prefix=pool.prefix,
                                target=str(pool.target),
                            )
                            for pool in variant.pools
                        ),
                        initial_count=config.instance_count,
                        instances=limits,
                        is_scaled=config.scaling is not None,
                    )
                    for variant in self.variants
                },
                components=self.mode.components(self.full_name, config),
                metrics_namespace=self.metrics_namespace,
                settings={
                    **config.model_dump(mode="json", exclude=_TYPED_KEYS),
                    "alarms": monitoring.THRESHOLDS | config.alarms.model_dump(exclude_none=True),
                },
                models_digest=models_digest(models),
            ),
            models=models,
        )


@dataclass(frozen=True, kw_only=True)
class StagePlan:
    """A stage by its name, with the plans of its endpoints by their short names."""

    name: str
    config: StageConfig
    endpoints: dict[str, EndpointPlan]

    @classmethod
    def load(cls, name: str, *, python: str | None = None) -> Self:
        """Return the plan of a stage's file. Raise the errors of `load_stage`, and `BuildError`."""
        config = load_stage(name)
        with at_lines_of_stage(name):
            return cls.of(name, config, python=python)

    @classmethod
    def of(cls, name: str, config: StageConfig, *, python: str | None = None) -> Self:
        """Return the plan of a stage.

        `python` overrides the Python version of the release's image, in which Python models run.
        Raise `checked_yaml.LocatedErrors` with every model that does not exist or cannot be built,
        and `BuildError` if `python` is not a version.
        """
        problems: list[Violation] = []
        endpoints = {}
        for short_name, endpoint in config.endpoints.items():
            path, models = ("endpoints", short_name), list[ModelPlan]()
            for number, model in enumerate(endpoint.models):
                try:
                    models.append(planned_model(model))
                except ModelNotFound as error:
                    problems.append(Violation((*path, "models", number), str(error)))
            if len(models) == len(endpoint.models):
                plan = EndpointPlan.of(name, config, short_name, models, python)
                problems += prefix_violations(path, plan.problems())
                endpoints[short_name] = plan
        if problems:
            raise checked_yaml.LocatedErrors(list(dict.fromkeys(problems)))
        return cls(name=name, config=config, endpoints=endpoints)

    @property
    def region(self) -> platform_facts.Region:
        """The region of the stage."""
        return platform_facts.region(self.config.region)

    @property
    def max_monthly_usd(self) -> float | None:
        """The price of all instances at the maximum of scaling, None if a type has no price."""
        hourly = [endpoint.max_hourly_usd for endpoint in self.endpoints.values()]
        known = [usd for usd in hourly if usd is not None]
        return platform_facts.HOURS_PER_MONTH * sum(known) if len(known) == len(hourly) else None

    def document(self) -> Plan:
        """Return the plan that the assembly contains.

        Raise `checked_yaml.LocatedErrors` if an update takes too long for a delivery.
        """
        config = self.config
        updates = {name: plan.max_update_seconds for name, plan in self.endpoints.items()}
        return Plan(
            stage=self.name,
            account=config.account,
            region=config.region,
            release=config.release,
            production=config.production,
            max_monthly_usd=config.max_monthly_usd,
            settings=config.model_dump(mode="json", exclude=_TYPED_STAGE_KEYS),
            endpoints={name: plan.document() for name, plan in self.endpoints.items()},
            time_budget=time_budget(self.name, updates),
        )
