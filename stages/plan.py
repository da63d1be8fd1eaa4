"""The plan of a stage's endpoints and models: variants, archives, catalog entries.

A plan is computed from files only, without the CDK.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

import platform_facts
from model_build import (
    BuildError,
    BuildTarget,
    CheckedModel,
    ModelNotFound,
    Models,
    check_model,
)
from plan.document import (
    EndpointSettings,
    Limits,
    Plan,
    PlannedArchive,
    PlannedComponent,
    PlannedEndpoint,
    PlannedModel,
    PlannedPool,
    PlannedVariant,
    models_digest,
)
from platform_facts.rules import Violation, checked_yaml, monitoring, prefix_violations
from platform_facts.rules.builds import source_assets
from platform_facts.rules.catalog import check_catalog_entry
from platform_facts.rules.names import check_environment_size
from platform_facts.rules.server import check_decoupled_model
from platform_facts.rules.stage import check_table_hosting
from platform_facts.rules.updates import MAX_UPDATE_SECONDS, CopiesUpdate
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


@cache
def checked_model(name: str) -> CheckedModel:
    """Return a model; cached, because several endpoints may serve it."""
    return check_model(_models().find(name))


@cache
def checked_rows(name: str) -> tuple[CheckedModel, ...]:
    """Return the rows of a folder's table, empty if it has none."""
    return tuple(map(check_model, _models().rows(name)))


@cache
def _models() -> Models:
    return Models(MODELS)


@dataclass(frozen=True, kw_only=True)
class PlannedStage:
    """A stage's file, its plan, and its models by name."""

    config: StageConfig
    plan: Plan
    models: dict[str, CheckedModel]

    @classmethod
    def load(cls, name: str, *, python: str | None = None) -> Self:
        """Return the stage of a file. Raise the errors of `load_stage`, and `BuildError`."""
        config = load_stage(name)
        with at_lines_of_stage(name):
            return cls.of(name, config, python=python)

    @classmethod
    def of(cls, name: str, config: StageConfig, *, python: str | None = None) -> Self:
        """Return a stage with its plan.

        `python` overrides the Python version of the release's image, in which Python models run.
        Raise `checked_yaml.LocatedErrors` with every model that does not exist or cannot be built,
        or if an update takes too long for a delivery, and `BuildError` if `python` is not a
        version.
        """
        problems = list[Violation]()
        endpoints, all_models = dict[str, PlannedEndpoint](), dict[str, CheckedModel]()
        checks = dict[tuple[str, ...], str]()
        for short_name, endpoint in config.endpoints.items():
            models, violations = _served_models(endpoint)
            if not violations:
                served = [model for _, model in models]
                planned = _endpoint(name, config, short_name, served, python)
                violations = [*_problems(config, endpoint, models, planned, checks)]
                endpoints[short_name] = planned
                all_models |= {model.name: model for model in served}
            problems += prefix_violations(("endpoints", short_name), violations)
        if problems:
            raise checked_yaml.LocatedErrors(list(dict.fromkeys(problems)))
        updates = {
            short_name: _max_update_seconds(config.endpoints[short_name], endpoint.settings)
            for short_name, endpoint in endpoints.items()
        }
        longer_wake = max(item.settings.longer_wake_seconds for item in endpoints.values())
        plan = Plan(
            stage=name,
            account=config.account,
            region=config.region,
            release=config.release,
            production=config.production,
            max_monthly_usd=config.max_monthly_usd,
            settings=config.model_dump(mode="json", exclude=_TYPED_STAGE_KEYS),
            endpoints=endpoints,
            time_budget=time_budget(name, updates, longer_wake_seconds=longer_wake),
        )
        return cls(config=config, plan=plan, models=all_models)

    @property
    def region(self) -> platform_facts.Region:
        """The region of the stage."""
        return platform_facts.region(self.config.region)

    @property
    def price_at_max_scale(self) -> float | None:
        """The monthly price of all instances at the maximum of scaling, None if a type has none."""
        price_of, hourly = platform_facts.prices().of, 0.0
        for endpoint in self.plan.endpoints.values():
            for variant in endpoint.settings.variants.values():
                prices = [price_of(self.config.region, name) for name in variant.instance_types]
                known_prices = [price for price in prices if price is not None]
                if len(known_prices) < len(prices):
                    return None
                hourly += variant.instances.maximum * max(known_prices)
        return platform_facts.HOURS_PER_MONTH * hourly


def _served_models(
    config: EndpointConfig,
) -> tuple[list[tuple[int, CheckedModel]], list[Violation]]:
    """Return the models of an endpoint, each with the number of its entry, and problems.

    An entry that is the folder of a table stands for all rows.
    """
    numbers, models = dict[str, int](), list[tuple[int, CheckedModel]]()
    violations = list[Violation]()
    for number, name in enumerate(config.models):
        keys = ("models", number)
        try:
            rows = checked_rows(name)
            entry_models = rows or (checked_model(name),)
        except ModelNotFound as error:
            violations.append(Violation(keys, str(error)))
            continue
        violations += check_table_hosting.at(*keys)(len(rows), config.hosting)
        for model in entry_models:
            if model.name in numbers:
                other = config.models[numbers[model.name]]
                message = f"{other} has the model {model.name}, too: remove one"
                violations.append(Violation(keys, message))
            numbers.setdefault(model.name, number)
            models.append((number, model))
    return models, violations


def _endpoint(
    stage_name: str,
    stage: StageConfig,
    short_name: str,
    models: Sequence[CheckedModel],
    python: str | None,
) -> PlannedEndpoint:
    """Return the plan of an endpoint that serves `models`.

    Archives are for one model and target: variants with one target share them.
    """
    config, stack = stage.endpoints[short_name], f"{stage_name}-{short_name}"
    name, components = config.endpoint_name(stack), config.component_names(stack)
    variants = {
        variant: PlannedVariant(
            weight=config.variants[variant].weight,
            pools=tuple(
                _pool(type_name, short_name, stage.release, python)
                for type_name in config.variant_instance_types(variant)
            ),
            initial_count=config.instance_count,
            instances=config.instance_limits,
            is_scaled=config.scaling is not None,
        )
        for variant in config.variants
    }
    pools = {pool.prefix: pool for variant in variants.values() for pool in variant.pools}
    folders = {model.folder.name: model.source.shared for model in models}
    sources = source_assets(
        stage_name, {folder: (read.digest, read.size) for folder, read in folders.items()}
    )
    planned_models = {
        model.name: PlannedModel(
            version=model.version,
            digest=model.digest,
            source=sources[model.folder.name],
            alternative=model.alternative or "",
            archives={
                f"{prefix}{model.target_model}": PlannedArchive(
                    target=pool.target,
                    engines=model.engines if _gpu(pool.instance_type) else (),
                )
                for prefix, pool in pools.items()
            },
            catalog=model.catalog_entry(
                endpoint=name,
                target_model=model.target_model if config.hosting == "multi-model" else None,
                component=components.get(model.name),
            ),
            default_model=None if config.hosting == "multi-model" else model.entry,
            is_stateful=model.is_stateful,
        )
        for model in models
    }
    settings = EndpointSettings(
        name=name,
        stack=stack,
        hosting=config.hosting,
        variants=variants,
        components={model: _component(config, model, name) for model, name in components.items()},
        metrics_namespace=f"Triton/{name}" if config.publish_metrics else None,
        settings={
            **config.model_dump(mode="json", exclude=_TYPED_KEYS),
            "alarms": monitoring.THRESHOLDS | config.alarms.model_dump(exclude_none=True),
        },
        models_digest=models_digest(planned_models),
    )
    return PlannedEndpoint(settings=settings, models=planned_models)


def _gpu(instance_type: str) -> platform_facts.Gpu | None:
    return platform_facts.instance_type(instance_type).gpu


def _pool(instance_type: str, endpoint: str, release: str, python: str | None) -> PlannedPool:
    gpu = _gpu(instance_type)
    capability = str(gpu.compute_capability) if gpu else None
    target = BuildTarget(release=release, compute_capability=capability)
    if python is not None:
        target = target.with_python(python)
    prefix = f"{endpoint}/{target}/"
    return PlannedPool(instance_type=instance_type, prefix=prefix, target=str(target))


def _component(config: EndpointConfig, model: str, name: str) -> PlannedComponent:
    component = (config.components or {})[model]
    copies = component.copies
    return PlannedComponent(
        name=name,
        copies=Limits(minimum=copies.min, maximum=copies.max),
        initial_count=max(1, copies.min),
        memory_mb=component.memory_mb,
        scaling=copies.model_dump(exclude={"min", "max"}, exclude_none=True),
        cpus=component.cpus,
        accelerators=component.accelerators,
    )


def _max_update_seconds(config: EndpointConfig, settings: EndpointSettings) -> int:
    """Return the maximum duration of an update, at the maximum counts; components in parallel."""
    times = config.update_times
    if copies := [component.copies.maximum for component in settings.components.values()]:
        return CopiesUpdate.of(times, max(copies)).max_seconds
    return min(MAX_UPDATE_SECONDS, times.max_seconds(config.instance_limits.maximum))


def _problems(
    stage: StageConfig,
    config: EndpointConfig,
    models: Sequence[tuple[int, CheckedModel]],
    planned: PlannedEndpoint,
    checks: dict[tuple[str, ...], str],
) -> Iterator[Violation]:
    """Yield models that cannot be built, served or stored in the catalog.

    Rows of a table with the same code are built for a target, or none is. `checks` has the results
    of checks of models for targets, which the endpoints of a stage share.
    """
    longest = max(planned.models.values(), key=lambda model: len(model.default_model or ""))
    yield from check_environment_size(planned.settings.environment(longest))
    has_builder = platform_facts.region(stage.region).codebuild_gpu
    builder = platform_facts.codebuild_gpu().compute_capability if has_builder else None
    backends = None
    if config.image:
        backends = config.image.backends or platform_facts.release(stage.release).backends
    checked = set[tuple[Path, str, str]]()
    for number, model in models:
        keys, planned_model = ("models", number), planned.models[model.name]
        for archive in planned_model.archives.values():
            code = (model.folder, model.source.code, archive.target)
            if code in checked:
                continue
            checked.add(code)
            check = (model.name, archive.target, *(backends or ()))
            if check not in checks:
                checks[check] = _target_error(model, archive.target, builder, backends)
            if checks[check]:
                yield Violation(keys, checks[check])
        decoupled = check_decoupled_model.at(*keys)
        yield from decoupled(model.name, model.is_decoupled, config.server.inference_type)
        check_entry = check_catalog_entry.at(*keys)
        yield from check_entry(model.name, planned_model.catalog.as_json())


def _target_error(
    model: CheckedModel,
    target: str,
    builder: platform_facts.ComputeCapability | None,
    backends: Sequence[str] | None,
) -> str:
    """Return why a model cannot be built for a target, empty if it can."""
    try:
        model.check_target(BuildTarget.parse(target), builder=builder, backends=backends)
    except BuildError as error:
        return str(error)
    return ""
