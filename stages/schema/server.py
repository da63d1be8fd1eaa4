"""How Triton is started in a container."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from stages.schema.part import MAX_INTEGER, Part

Positive = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
NotNegative = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
MAX_VARIABLE_BYTES = 1024
"""Of a name, and of a value (API reference, ContainerDefinition, Environment)."""


def _arguments(text: str) -> str:
    """Return arguments, which serve reads from a variable."""
    if not text.strip():
        raise ValueError("has no argument: write one, or remove it")
    return _value(text)


def _value(text: str) -> str:
    """Return the value of a variable, which ends at a NUL (environ(7))."""
    if "\0" in text:
        raise ValueError("has a NUL, which no variable can hold: remove it")
    return _short(text)


def _short(text: str) -> str:
    if len(text.encode()) > MAX_VARIABLE_BYTES:
        raise ValueError(f"has more than {MAX_VARIABLE_BYTES} bytes: shorten it")
    return text


class ServerConfig(Part):
    """Options of the Triton server; what is left out is NVIDIA's default."""

    log_verbose: NotNegative = 0
    """Level of verbose messages: 1 and more log every request."""
    log_info: bool | None = None
    """Log what Triton does. Left out: true."""
    log_warning: bool | None = None
    """Log warnings. Left out: true."""
    log_error: bool | None = None
    """Log errors. Left out: true."""
    thread_count: Positive | None = None
    """Threads of the HTTP front end. Left out: 8."""
    buffer_manager_thread_count: NotNegative | None = None
    """Threads that copy tensors between buffers. Left out: 0."""
    python_shm_default_mib: Positive | None = None
    """Shared memory that each instance of a Python model starts with, in MiB. Left out: 16."""
    python_shm_growth_mib: Positive | None = None
    """How much it grows at a time, in MiB. Left out: 1."""
    model_load_gpu_limit: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of each GPU's memory above which no further model is loaded. Left out: no limit."""
    model_namespacing: bool | None = None
    """Let archives hold equally named models. Left out: true."""
    ping_mode: Literal["live", "ready"] | None = None
    """ready makes an instance unhealthy while a model does not load, live does not. Left out: ready
    for single-model, live for multi-model hosting."""
    inference_type: Literal["infer", "generate", "generate_stream"] | None = None
    """How a single model answers. Left out: infer."""
    additional_args: Annotated[str, AfterValidator(_arguments)] | None = None
    """Further arguments of tritonserver."""


def _variable(name: str) -> str:
    """Return the name of a variable of one's own (API reference, ContainerDefinition)."""
    if not re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name):
        raise ValueError(f"{name!r} is no variable: write letters, digits and _, no digit first")
    if name.startswith("SAGEMAKER_"):  # our choice: each of serve's has one home
        raise ValueError(
            f"{name} is SageMaker's or the server's: what it says is said by server, hosting or "
            "publish_metrics"
        )
    return _short(name)


Environment = dict[
    Annotated[str, AfterValidator(_variable)], Annotated[str, AfterValidator(_value)]
]
