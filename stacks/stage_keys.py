"""Where a stage's file says what a construct refuses."""

from collections.abc import Iterable

import checked_yaml
from stages import EndpointStage
from triton_sagemaker import Problem

SCALING = {
    "min_capacity": "min_count",
    "max_capacity": "max_count",
    "scale_on_invocations": "max_rps",
    "scale_on_concurrency": "concurrency",
    "scale_on_gpu_utilization": "gpu_percent",
    "scale_on_cpu_utilization": "cpu_percent",
}
"""Methods and arguments of the constructs -> keys of a stage's `scaling`."""


def raise_problems(name: str, endpoint: EndpointStage, problems: Iterable[Problem]) -> None:
    """Raise `checked_yaml.Misfits` with the keys of problems, from the top of a stage's file.

    `name` is the endpoint's short name. What stands nowhere in the file is named as the construct
    names it, at the endpoint.
    """
    located = [_with_keys(name, endpoint, problem) for problem in problems]
    if located:
        raise checked_yaml.Misfits(list(dict.fromkeys(located)))  # once, not a variant


def _with_keys(
    name: str, endpoint: EndpointStage, problem: Problem
) -> tuple[checked_yaml.Keys, str]:
    match problem.where.split("."):
        case ["container", "release"]:
            return ("release",), problem.what
        case ["variants", variant, "instances", "instance_type"]:
            keys = endpoint.place_of_type(variant)
        case ["variants", _, "instances", "initial_count"] | ["instances", "initial_count"]:
            keys = ("instance_count",)
        case ["variants", _, "container", "environment"]:
            keys = ("environment",)
        case ["variants", _, "container", "options", option]:
            keys = ("server", f"{option}_mib" if option.startswith("python_shm") else option)
        case ["variants", variant, "weight"]:
            keys = ("variants", variant, "weight")
        case ["update", "wait"]:
            keys = ("update", "wait_seconds")
        case ["rollback_error_rate"]:
            keys = ("update", "rollback_error_rate")
        case ["variants", _, "auto_scale_instance_count", *argument]:
            keys = ("scaling", *(SCALING[name] for name in argument))
        case ["variants", _, "scale_on_schedule", schedule, argument]:
            keys = ("scaling", "schedules", schedule, SCALING[argument])
        case ["variants", _, method, *_] if method in SCALING:
            keys = ("scaling", SCALING[method])
        case ["update" | "variants" as key]:
            keys = (key,)
        case ["data_capture" | "update" as key, inner]:
            keys = (key, inner)
        case _:
            return ("endpoints", name), str(problem)
    return ("endpoints", name, *keys), problem.what
