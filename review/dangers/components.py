"""Dangers of inference components: a missing component, alarm or instance capacity."""

from collections.abc import Callable, Iterator

import platform_facts
from review.comparison import Comparison
from review.dangers.danger import Danger
from review.endpoints import TemplateEndpoint

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
    components = endpoint.components
    for variant in endpoint.variants.values() if components else ():
        try:
            instance = platform_facts.instance_type(variant.instance_types[0])
        except platform_facts.UnknownFact:  # the type is missing in this commit's facts
            continue
        gpus = {name: component.accelerators for name, component in components.items()}
        vcpus = {name: component.cpus for name, component in components.items()}
        for unit, available, reserved in (
            ("GPUs", instance.gpu_count, gpus),
            ("vCPUs", instance.vcpus, vcpus),
        ):
            minimum = sum(reserved[name] * components[name].minimum for name in components)
            for name, component in components.items():
                additional_copies = component.maximum - component.minimum
                maximum = minimum + reserved[name] * additional_copies
                if reserved[name] > available:
                    yield (
                        f"{name}.{unit}",
                        f"a copy of {name} reserves {reserved[name]:g} {unit}, but "
                        f"{instance.name} has {available}",
                    )
                elif reserved[name] and maximum > available * variant.maximum:
                    yield (
                        f"{name}.{unit}",
                        f"{component.maximum} copies of {name} and the minimum copies of all other "
                        f"components reserve {maximum:g} {unit}, but {variant.maximum} instances "
                        f"have {available * variant.maximum}: the remaining copies do not start",
                    )


def _new_problems(comparison: Comparison, find_problems: FindProblems) -> Iterator[Danger]:
    """Yield a danger for each problem that an endpoint did not have before."""
    for pair in comparison.endpoints.values():
        old_messages = dict(find_problems(pair.before)) if pair.before else {}
        for subject, message in find_problems(pair.after) if pair.after else ():
            if old_messages.get(subject) != message:
                yield Danger(f"{pair.name}.{subject}", message)
