"""Where a stage's file says what a construct refuses."""

from collections.abc import Iterator
from contextlib import contextmanager

import checked_yaml
from stages import EndpointConfig
from triton_sagemaker import InvalidEndpoint, Problem


@contextmanager
def naming_keys(name: str, endpoint: EndpointConfig) -> Iterator[None]:
    """Raise `InvalidEndpoint` as `checked_yaml.Misfits`: with keys, from the top of a stage's file.

    `name` is the endpoint's short name. What stands nowhere in the file is named as the construct
    names it, at the endpoint.
    """
    try:
        yield
    except InvalidEndpoint as error:
        found = [_with_keys(name, endpoint, problem) for problem in error.problems]
        raise checked_yaml.Misfits(list(dict.fromkeys(found))) from None  # once, not a variant


def _with_keys(
    name: str, endpoint: EndpointConfig, problem: Problem
) -> tuple[checked_yaml.Keys, str]:
    match problem.where.split("."):
        case ["variants", _, "container", "release"]:
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
        case ["scaling", "targets"]:
            keys = ("scaling",)
        case ["scaling", "schedules", schedule, key]:
            keys = ("scaling", "schedules", schedule, key)
        case ["update" | "scaling" | "variants" as key]:
            keys = (key,)
        case ["data_capture" | "update" | "scaling" as key, inner]:
            keys = (key, inner)
        case _:
            return ("endpoints", name), str(problem)
    return ("endpoints", name, *keys), problem.what
