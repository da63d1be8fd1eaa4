"""Inference components that clients miss, that never wake, or whose copies have no room."""

from collections.abc import Callable, Iterator

import platform_facts
from release.review.comparison import Comparison
from release.review.dangers.danger import Danger
from release.review.endpoints import DeclaredEndpoint

Faults = Callable[[DeclaredEndpoint], Iterator[tuple[str, str]]]
"""Yields a subject and a message for each fault of an endpoint."""


def missing_components(comparison: Comparison) -> Iterator[Danger]:
    """The catalog sends clients to a component that its stack does not have."""

    def faults(endpoint: DeclaredEndpoint) -> Iterator[tuple[str, str]]:
        for model in endpoint.models.values():
            if model.component and model.component not in endpoint.components:
                yield (
                    model.name,
                    f"the catalog sends clients of {model.name} to the inference component "
                    f"{model.component}, which the stack does not have: every call fails",
                )

    return _new(comparison, faults)


def never_woken(comparison: Comparison) -> Iterator[Danger]:
    """A component may have no copy, and nothing adds one.

    Target tracking does not (huggingface/skills, hf-cloud-sagemaker-production-defaults).
    """

    def faults(endpoint: DeclaredEndpoint) -> Iterator[tuple[str, str]]:
        for component in endpoint.components.values():
            if component.minimum == 0 and not component.wakes:
                yield (
                    component.name,
                    f"{component.name} may scale to no copy, and one refused call adds none: it "
                    "needs an alarm on NoCapacityInvocationFailures, from 1 on, with a step "
                    "scaling policy as its action",
                )

    return _new(comparison, faults)


def unplaced_copies(comparison: Comparison) -> Iterator[Danger]:
    """The instances never have room for all copies of a component: the rest is not started.

    GPUs and vCPUs alone are counted: how much memory an instance has to reserve is documented
    nowhere.
    """
    return _new(comparison, _without_room)


def _without_room(endpoint: DeclaredEndpoint) -> Iterator[tuple[str, str]]:
    components = endpoint.components.values()
    for variant in endpoint.variants.values() if components else ():
        try:
            instance = platform_facts.instance_type(variant.instance_types[0])
        except platform_facts.UnknownFact:  # of a commit that knew it
            continue
        for unit, has, needs in (
            ("GPUs", instance.gpu_count, {each.name: each.accelerators for each in components}),
            ("vCPUs", instance.vcpus, {each.name: each.cpus for each in components}),
        ):
            least = sum(needs[each.name] * each.minimum for each in components)
            for each in components:
                need = needs[each.name]
                most = least + need * (each.maximum - each.minimum)
                text = (
                    f"a copy of {each.name} reserves {need:g} {unit}, and {instance.name} has {has}"
                )
                if need <= has:
                    text = (
                        f"{each.maximum} copies of {each.name}, with the fewest of other components"
                        f", reserve {most:g} {unit}, and the most instances have "
                        f"{has * variant.maximum}: the rest is not started"
                    )
                if need > has or (need and most > has * variant.maximum):
                    yield f"{each.name}.{unit}", text


def _new(comparison: Comparison, faults: Faults) -> Iterator[Danger]:
    """Yield the faults that an endpoint did not have before."""
    for pair in comparison.endpoints.values():
        known = dict(faults(pair.before)) if pair.before else {}
        for subject, message in faults(pair.after) if pair.after else ():
            if known.get(subject) != message:
                yield Danger(f"{pair.name}.{subject}", message)
