"""Dangers of endpoints: removal, rejected updates, failing clients and low capacity."""

from collections.abc import Callable, Iterator
from pathlib import Path

from release.stack_endpoints import scaled_variants_that_change
from review.comparison import Comparison, EndpointPair
from review.dangers.danger import Danger, digest
from review.endpoints import TemplateEndpoint
from review.files.model_configuration import uses_sequence_batching
from review.model_changes import model_changes, model_folder
from review.money import endpoint_cost
from review.rejected_updates import rejection_reason


def removed_endpoints(comparison: Comparison) -> Iterator[Danger]:
    """An endpoint is removed from the app, or renamed.

    `cdk deploy` does not change stacks that are no longer in the app: they run, and cost money,
    until they are deleted. The endpoint's log group is deleted by this deployment, because it
    belongs to the models stack, which remains.
    """
    if not comparison.after:
        names = ", ".join(pair.name for pair in comparison.endpoints.values())
        yield Danger(
            comparison.stage,
            f"the stage {comparison.stage} is no longer in the app: its stacks run without updates "
            f"until they are deleted; then every invocation fails ({names})",
        )
        return
    for stack, pair in comparison.endpoints.items():
        if pair.before and pair.after is None:
            yield Danger(
                pair.name,
                f"the endpoint {pair.name} is no longer in the app: its stack runs without updates "
                "until it is deleted; then every invocation fails",
                explains=_is_log_deletion(comparison.stage, stack),
            )
        elif pair.before and pair.before.name != pair.name:
            yield Danger(
                pair.before.name,
                f"the endpoint {pair.before.name} is renamed to {pair.name}: a new endpoint is "
                "created, the old one is deleted, and clients that use the old name fail",
            )


def _is_log_deletion(stage: str, stack: str) -> Callable[[Danger], bool]:
    """Return a function that tells whether a danger is the deletion of an endpoint's log group."""
    log = f"{stage}-models.Log-{stack.removeprefix(f'{stage}-')}/"
    return lambda danger: danger.rule == "replaced_resources" and danger.subject.startswith(log)


def rejected_updates(comparison: Comparison) -> Iterator[Danger]:
    """The update guard rejects the update of an endpoint, so later stacks are not deployed.

    Clients can name a variant (API reference, InvokeEndpoint, TargetVariant).
    """
    if comparison.is_moved:
        return
    for before, after in comparison.common_endpoints:
        if reason := rejection_reason(before, after):
            if removed_variants := sorted(before.variants.keys() - after.variants.keys()):
                reason += f"; clients with TargetVariant {', '.join(removed_variants)} would fail"
            yield Danger(
                after.name,
                f"the update of {after.name} is rejected before it begins: {reason}. Deploy a "
                "second endpoint, and move the clients",
            )


def scaling_suspended_during_update(comparison: Comparison) -> Iterator[Danger]:
    """The instance type of a scaled variant changes: that needs two deploys (docs/delivery.md)."""
    if comparison.is_moved:
        return
    for before, after in comparison.common_endpoints:
        variants = before.variants.values(), after.variants.values()
        names = scaled_variants_that_change(*variants)
        if names and not rejection_reason(before, after):
            maximum = max(before.variants[name].maximum for name in names)
            yield Danger(
                f"{after.name}.{','.join(names)}",
                f"{', '.join(names)} of {after.name} is not scaled until its update ends: the "
                f"instance count does not grow to {maximum}. Use make deliver, which deploys twice:"
                " cdk deploy is rejected",
            )


def dropped_models(comparison: Comparison) -> Iterator[Danger]:
    """A model is removed from the catalog of an endpoint that is not removed."""
    for before, after in comparison.common_endpoints:
        for name in sorted(before.models.keys() - after.models.keys()):
            yield Danger(
                f"{before.name}.{name}",
                f"{before.name} no longer has {name} in its catalog: clients that invoke it fail "
                "(its archives are kept)",
            )


def broken_clients(comparison: Comparison) -> Iterator[Danger]:
    """The inputs or outputs of a model change so that existing clients fail."""
    for model in model_changes(comparison):
        for change in model.breaking_changes:
            yield Danger(
                f"{model.endpoint}.{model.model}.{digest(change)}",
                f"clients of {model.model} on {model.endpoint} fail: {change}",
                group=f"{model.endpoint}.{model.model}",
            )


def split_sequences(comparison: Comparison) -> Iterator[Danger]:
    """A model with sequence batching newly has several instances or copies.

    "The sequence batcher ensures that all inference requests in a sequence get routed to the same
    model instance" of one Triton (Triton user guide, model_execution.html#stateful-models).
    SageMaker can send the requests of one sequence to different instances.
    """
    for pair in comparison.endpoints.values():
        old_models, models = (
            _split_models(endpoint, folder)
            for endpoint, folder in zip((pair.before, pair.after), comparison.models, strict=True)
        )
        for model, (count, unit) in models.items():
            if model not in old_models:
                yield Danger(
                    f"{pair.name}.{model}",
                    f"{model} of {pair.name} uses sequence batching, but SageMaker sends the "
                    f"requests of a sequence to up to {count} {unit}, which do not share its state",
                )


def _split_models(
    endpoint: TemplateEndpoint | None, models: Path | None
) -> dict[str, tuple[int, str]]:
    """Return model -> (maximum, unit) of several instances or copies that share its sequences."""
    if endpoint is None or models is None:
        return {}
    instances = sum(variant.maximum for variant in endpoint.variants.values()), "instances"
    maximums = {
        name: (component.maximum, "copies")
        if (component := endpoint.components.get(str(model.component)))
        else instances
        for name, model in endpoint.models.items()
    }
    return {
        model: (maximum, unit)
        for model, (maximum, unit) in maximums.items()
        if maximum > 1 and uses_sequence_batching(model_folder(models, model))
    }


def low_availability(comparison: Comparison) -> Iterator[Danger]:
    """The minimum of a variant in production falls below two instances.

    Times of a cold start are third-party measurements (sources in docs/hosting-modes.md).
    """
    if not comparison.is_production:
        return
    for pair in comparison.endpoints.values():
        for name, variant in pair.after.variants.items() if pair.after else ():
            old = pair.before.variants.get(name) if pair.before else None
            if variant.minimum < min(2, old.minimum if old else 2):
                text = f"{pair.name} may run on 1 instance: if it fails, invocations fail"
                if variant.minimum == 0:
                    text = (
                        f"{pair.name} can scale in to zero{_saving(comparison, pair)}: invocations "
                        "then fail, and a cold start takes minutes (published measurements: 5 and "
                        "9, docs/hosting-modes.md)"
                    )
                yield Danger(f"{pair.name}.{name}", text)


def _saving(comparison: Comparison, pair: EndpointPair) -> str:
    """Return a clause with the monthly saving of zero instances, empty if a price is unknown."""
    old_cost, new_cost = (
        endpoint_cost(endpoint, file.region).minimum if endpoint else None
        for endpoint, file in (
            (pair.before, comparison.file_before),
            (pair.after, comparison.file_after),
        )
    )
    if old_cost is None or new_cost is None:
        return ""
    return f", which saves up to {old_cost - new_cost:,.0f} USD a month"
