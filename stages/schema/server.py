"""Options of the Triton server in a container."""

from typing import Annotated, Literal

from pydantic import Field

from platform_facts.rules import names, ranges
from platform_facts.rules.ranges import MAX_INTEGER
from stages.schema.section import Section, TextPattern, range_field, rule_validator

NotNegative = Annotated[int, Field(ge=0, le=MAX_INTEGER)]


VariableText = Annotated[str, rule_validator(names.check_variable_text)]
NOT_BLANK = TextPattern(r"[\s\S]*\S[\s\S]*", "has no argument: write one, or remove it")


class ServerConfig(Section):
    """Options of the Triton server; omitted options have NVIDIA's defaults."""

    log_verbose: NotNegative = 0
    """Level of verbose messages: 1 and more log every request."""
    log_info: bool | None = None
    """Log informational messages. Default: true."""
    log_warning: bool | None = None
    """Log warnings. Default: true."""
    log_error: bool | None = None
    """Log errors. Default: true."""
    thread_count: Annotated[int, range_field(ranges.THREAD_COUNT)] | None = None
    """Number of threads of the HTTP front end. Default: 8."""
    buffer_manager_thread_count: NotNegative | None = None
    """Number of threads that copy tensors between buffers. Default: 0."""
    python_shm_default_mib: Annotated[int, range_field(ranges.SHM_DEFAULT)] | None = None
    """Initial shared memory of each instance of a Python model, in MiB. Default: 16."""
    python_shm_growth_mib: Annotated[int, range_field(ranges.SHM_GROWTH)] | None = None
    """Growth step of the shared memory of Python models, in MiB. Default: 1."""
    model_load_gpu_limit: Annotated[float, range_field(ranges.MODEL_LOAD_GPU_LIMIT)] | None = None
    """Share of each GPU's memory above which no further model is loaded. Default: no limit."""
    model_namespacing: bool | None = None
    """Allow models of the same name in different archives. Default: true."""
    ping_mode: Literal["live", "ready"] | None = None
    """With ready, an instance is unhealthy if a model fails to load; with live it is not.
    Default: ready for single-model, live for multi-model hosting."""
    inference_type: Literal["infer", "generate", "generate_stream"] | None = None
    """Triton API of a single-model endpoint. Default: infer."""
    allow_grpc: bool | None = None
    """Let Triton serve gRPC inside the container, for a proxy of your own image: SageMaker sends
    HTTP only. Default: false."""
    grpc_port: Annotated[int, range_field(ranges.GRPC_PORT)] | None = None
    """Port of gRPC. Default: 8001."""
    metrics_port: Annotated[int, range_field(ranges.METRICS_PORT)] | None = None
    """Port of Triton's metrics, if they are published. Default: 23000, which SageMaker allows."""
    tensorflow_version: Literal[1, 2] | None = None
    """Version of TensorFlow for models without one of their own. Default: 2."""
    additional_args: Annotated[VariableText, NOT_BLANK] | None = None
    """Additional arguments of tritonserver."""


VariableName = Annotated[
    VariableText,
    TextPattern(
        "(?!SAGEMAKER_)[a-zA-Z_][a-zA-Z0-9_]*",
        "is not allowed here: write letters, digits and _, no digit first; variables that begin "
        "with SAGEMAKER_ are set by the keys server, hosting and publish_metrics",
    ),
    rule_validator(names.check_variable_name),
]
"""API reference, ContainerDefinition. Names with SAGEMAKER_ are rejected because each variable of
`serve` has its own key."""
Environment = dict[VariableName, VariableText]
