"""Options of the Triton server in a container."""

from typing import Annotated, Literal

from pydantic import Field

from platform_facts.rules import names, ranges
from platform_facts.rules.ranges import MAX_INTEGER
from stages.schema.part import Part, WrittenAs, obeying, within

NotNegative = Annotated[int, Field(ge=0, le=MAX_INTEGER)]


VariableText = Annotated[str, obeying(names.variable_text)]
NOT_BLANK = WrittenAs(r"[\s\S]*\S[\s\S]*", "has no argument: write one, or remove it")


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
    thread_count: Annotated[int, within(ranges.THREAD_COUNT)] | None = None
    """Threads of the HTTP front end. Left out: 8."""
    buffer_manager_thread_count: NotNegative | None = None
    """Threads that copy tensors between buffers. Left out: 0."""
    python_shm_default_mib: Annotated[int, within(ranges.SHM_DEFAULT)] | None = None
    """Shared memory that each instance of a Python model starts with, in MiB. Left out: 16."""
    python_shm_growth_mib: Annotated[int, within(ranges.SHM_GROWTH)] | None = None
    """Step by which this shared memory grows, in MiB. Left out: 1."""
    model_load_gpu_limit: Annotated[float, within(ranges.MODEL_LOAD_GPU_LIMIT)] | None = None
    """Share of each GPU's memory above which no further model is loaded. Left out: no limit."""
    model_namespacing: bool | None = None
    """Allow models with equal names in different archives. Left out: true."""
    ping_mode: Literal["live", "ready"] | None = None
    """With ready, an instance is unhealthy if a model fails to load; with live it is not. Left
    out: ready for single-model, live for multi-model hosting."""
    inference_type: Literal["infer", "generate", "generate_stream"] | None = None
    """API of a single model. Left out: infer."""
    additional_args: Annotated[VariableText, NOT_BLANK] | None = None
    """Further arguments of tritonserver."""


VariableName = Annotated[
    VariableText,
    WrittenAs(
        "(?!SAGEMAKER_)[a-zA-Z_][a-zA-Z0-9_]*",
        "is no variable of your own: write letters, digits and _, no digit first; those that begin "
        "with SAGEMAKER_ are set by the keys server, hosting and publish_metrics",
    ),
]
"""API reference, ContainerDefinition; that each variable of `serve` has one home is our choice."""
Environment = dict[VariableName, VariableText]
