"""Rules about names of endpoints and variants, and about environment variables."""

import re

from platform_facts.rules.ranges import API
from platform_facts.rules.rule import rule

NAME = r"[a-zA-Z0-9](-*[a-zA-Z0-9])*"
MAX_NAME = 63
MAX_VARIABLE_BYTES = 1024
MAX_VARIABLES = 100
MAX_ENVIRONMENT_BYTES = 32 * 1024
CODE_VARIABLES = (
    *("BASH_ENV", "GCONV_PATH", "HOME", "PATH"),
    *("PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE"),
)
"""Besides LD_*, the variables by which bash, glibc and Python find code (Python in
HOME/.local); `serve` is a bash script, and Triton's Python backend embeds Python."""


def log_group(endpoint: str) -> str:
    """Return the name of the log group of an endpoint (developer guide, logging-cloudwatch)."""
    return f"/aws/sagemaker/Endpoints/{endpoint}"


def metrics_log_group(endpoint: str) -> str:
    """Return the name of the log group of an endpoint's Triton metrics."""
    return f"{log_group(endpoint)}/triton-metrics"


def component_log_group(component: str) -> str:
    """Return the name of the log group of an inference component's copies.

    Source: huggingface/skills, hf-cloud-sagemaker-production-defaults (observed on AWS).
    """
    return f"/aws/sagemaker/InferenceComponents/{component}"


@rule("endpoint_name", f"{API}CreateEndpoint.html, EndpointName")
def check_endpoint_name(name: str) -> str | None:
    """The full endpoint name has up to 63 letters and digits, with hyphens only between them."""
    if len(name) <= MAX_NAME and re.fullmatch(NAME, name):
        return None
    return (
        f"{name!r}, of {len(name)} characters, is not an endpoint name: write up to {MAX_NAME} "
        "letters, digits, and hyphens between them"
    )


@rule("name", f"{API}ProductionVariant.html, VariantName")
def check_variant_name(name: str) -> str | None:
    """The variant name has up to 63 letters and digits, with hyphens only between them."""
    if len(name) <= MAX_NAME and re.fullmatch(NAME, name):
        return None
    return f"{name!r} is not a variant name: write letters, digits, and hyphens between them"


@rule("components", f"{API}CreateInferenceComponent.html, InferenceComponentName")
def check_component_name(name: str) -> str | None:
    """The component name, `ENDPOINT-MODEL`, has up to 63 letters, digits and hyphens."""
    if len(name) <= MAX_NAME and re.fullmatch(NAME, name):
        return None
    return (
        f"{name!r}, of {len(name)} characters, is not the name of an inference component: "
        f"SageMaker allows {MAX_NAME} letters, digits and hyphens: shorten the stage's, the "
        "endpoint's or the model's"
    )


@rule("environment", f"{API}ContainerDefinition.html, Environment; environ(7)")
def check_variable_text(text: str) -> str | None:
    """Each name and each value of a variable has at most 1,024 bytes and no NUL byte."""
    if "\0" in text:
        return "has a NUL byte, which environment variables cannot contain: remove it"
    if len(text.encode()) > MAX_VARIABLE_BYTES:
        return f"has more than {MAX_VARIABLE_BYTES} bytes: shorten it"
    return None


@rule("environment", "ld.so(8); bash(1); Python, Command line and environment")
def check_variable_name(name: str) -> str | None:
    """No variable selects programs or libraries of the container (PATH, LD_PRELOAD, ...)."""
    if name.startswith("LD_") or name in CODE_VARIABLES:
        return (
            "decides which programs or libraries the container runs, which are the image's and the "
            "archive's: remove it, and pack libraries into the model's archive"
        )
    return None


@rule("environment", f"{API}ContainerDefinition.html, Environment; botocore's model of CreateModel")
def check_environment_size(environment: dict[str, str]) -> str | None:
    """All variables, including those of `server`, are at most 100 and 32,768 bytes in total."""
    size = sum(len(name.encode()) + len(text.encode()) for name, text in environment.items())
    if len(environment) <= MAX_VARIABLES and size <= MAX_ENVIRONMENT_BYTES:
        return None
    return (
        f"{len(environment)} entries of {size} bytes; SageMaker allows {MAX_VARIABLES} entries and "
        f"{MAX_ENVIRONMENT_BYTES} bytes: remove some"
    )
