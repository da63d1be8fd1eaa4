"""Dangers of inference components: a missing component, alarm or instance capacity."""

from collections.abc import Callable, Iterator

import platform_facts
from release.review.comparison import Comparison
from release.review.dangers.danger import Danger
from release.review.endpoints import TemplateEndpoint

FindProblems = Callable[[TemplateEndpoint], Iterator[tuple[str, str]]]
"""A function that yields the subject and the message of each problem of an endpoint."""


def missing_components(comparison: Comparison) -> Iterator[Danger]:
    """The catalog names a component that the stack does not have."""

    def find_problems(endpoint: TemplateEndpoint) -> Iterator[tuple[str, str]]:
        for model in endpoint.models.values():
            if model.component and model.component not in endpoint.components:
                yield (
                    model.name,
                    f"the catalog sends clients of {model.name} to the inference component "
                    f"{model.component}, which the stack does not have: every call fails",
                )

    return _new_problems(comparison, find_problems)


def no_scale_from_zero_alarm(comparison: Comparison) -> Iterator[Danger]:
    """A component can scale in to zero copies, and no alarm scales it out again.

    Target tracking does not scale out from zero (huggingface/skills,
    hf-cloud-sagemaker-production-defaults).
    """

    def find_problems(endpoint: TemplateEndpoint) -> Iterator[tuple[str, str]]:
        for component in endpoint.components.values():
            if component.minimum == 0 and not component.scales_from_zero:
                yield (
                    component.name,
                    f"{component.name} can scale in to zero copies and does not scale out again: "
                    "add an alarm on NoCapacityInvocationFailures >= 1 with a step scaling policy "
                    "as its action",
                )

    return _new_problems(comparison, find_problems)


def insufficient_capacity(comparison: Comparison) -> Iterator[Danger]:
    """The instances have too few GPUs or vCPUs for all copies of a component.

    Memory is not compared: AWS does not document how much of it can be reserved.
    """
    return _new_problems(comparison, _capacity_problems)


def _capacity_problems(endpoint: TemplateEndpoint) -> Iterator[tuple[str, str]]:
    components = endpoint.components.values()
    for variant in endpoint.variants.values() if components else ():
        try:
            instance = platform_facts.instance_type(variant.instance_types[0])
        except platform_facts.UnknownFact:  # the type is missing in this commit's facts
            continue
        for unit, available, reservations in (
            ("GPUs", instance.gpu_count, {item.name: item.accelerators for item in components}),
            ("vCPUs", instance.vcpus, {item.name: item.cpus for item in components}),
        ):
            reserved_minimum = sum(reservations[item.name] * item.minimum for item in components)
            for item in components:
                per_copy = reservations[item.name]
                reserved = reserved_minimum + per_copy * (item.maximum - item.minimum)
                if per_copy > available:
                    yield (
                        f"{item.name}.{unit}",
                        f"a copy of {item.name} reserves {per_copy:g} {unit}, but {instance.name} "
                        f"has {available}",
                    )
                elif per_copy and reserved > available * variant.maximum:
                    yield (
                        f"{item.name}.{unit}",
                        f"{item.maximum} copies of {item.name} and the minimum copies of all other "
                        f"components reserve {reserved:g} {unit}, but {variant.maximum} instances "
                        f"have {available * variant.maximum}: the remaining copies do not start",
                    )


def _new_problems(comparison: Comparison, find_problems: FindProblems) -> Iterator[Danger]:
    """Yield a danger for each problem that an endpoint did not have before."""
    for pair in comparison.endpoints.values():
        old_messages = dict(find_problems(pair.before)) if pair.before else {}
        for subject, message in find_problems(pair.after) if pair.after else ():
            if old_messages.get(subject) != message:
                yield Danger(f"{pair.name}.{subject}", message)
