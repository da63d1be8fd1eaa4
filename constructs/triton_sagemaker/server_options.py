"""Options of the Triton server in a SageMaker container, named after their effect."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Literal

from aws_cdk import Size

from platform_facts import Release
from platform_facts.rules import ranges, server
from triton_sagemaker.problems import Problem, check

InferenceType = Literal["infer", "generate", "generate_stream"]
PingMode = Literal["live", "ready"]


@dataclass(frozen=True, kw_only=True)
class PublishedMetrics:
    """Triton's own metrics (`nv_*`), published to CloudWatch by AWS's image.

    An agent in the image reads Triton's metrics endpoint, which is enabled too, and writes to the
    CloudWatch log group `log_group`; the metrics are in `namespace`.
    """

    log_group: str
    namespace: str

    def environment(self) -> dict[str, str]:
        """Return the environment variables that enable the publication."""
        return server.metrics_variables(self.log_group, self.namespace)


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """Settings of `serve` in the container's environment; None keeps the default.

    Source: triton-inference-server/server, docker/sagemaker/serve.
    """

    log_verbose: bool | int = False
    """Log every request, or the verbosity level; serve's default is true."""
    log_info: bool | None = None
    """Triton's default is true."""
    log_warning: bool | None = None
    """Triton's default is true."""
    log_error: bool | None = None
    """Triton's default is true."""
    thread_count: int | None = None
    """Threads of the SageMaker HTTP front end; Triton's default is 8."""
    buffer_manager_thread_count: int | None = None
    """Threads that copy tensors between buffers; Triton's default is 0."""
    python_shm_default: Size | None = None
    """Initial shared memory of each Python-backend instance; serve's default is 16 MiB."""
    python_shm_growth: Size | None = None
    """Step by which the shared memory grows; serve's default is 1 MiB."""
    model_load_gpu_limit: float | None = None
    """Fraction of each GPU's memory above which no further model is loaded; by default no limit."""
    model_namespacing: bool | None = None
    """Allow models of the same name in different archives; serve's default is true."""
    ping_mode: PingMode | None = None
    """`ready` makes an instance unhealthy if a model fails to load, `live` does not. The default
    depends on the hosting mode, as intended in serve."""
    inference_type: InferenceType | None = None
    """Protocol of /invocations of a single model; the default is `infer`. Since 25.03."""
    allow_grpc: bool | None = None
    """Serve gRPC inside the container, for a proxy of an image of your own; serve's default is
    false. SageMaker sends HTTP only."""
    grpc_port: int | None = None
    """Port of gRPC; Triton's default is 8001."""
    metrics_port: int | None = None
    """Port of Triton's metrics, if they are published; the default is 23000."""
    tensorflow_version: Literal[1, 2] | None = None
    """Version of TensorFlow for models without one of their own; Triton's default is 2."""
    additional_args: str | None = None
    """Further arguments of tritonserver."""
    publish_metrics: PublishedMetrics | None = None
    """Publish Triton's metrics to CloudWatch."""

    def environment(self, *, multi_model: bool) -> dict[str, str]:
        """Return the options as environment variables."""
        values = vars(self) | {
            f"{name}_mib": size and int(size.to_mebibytes())
            for name, size in (
                ("python_shm_default", self.python_shm_default),
                ("python_shm_growth", self.python_shm_growth),
            )
        }
        variables = server.variables(values, multi_model=multi_model)
        return (self.publish_metrics.environment() if self.publish_metrics else {}) | variables

    def problems(self, release: Release) -> Iterator[Problem]:
        """Yield the options that Triton or the release's `serve` would reject or ignore."""
        tensorflow = server.check_tensorflow_version
        yield from check(tensorflow, self.tensorflow_version, release)
        published = self.publish_metrics is not None
        ports = self.allow_grpc, self.grpc_port, published, self.metrics_port
        yield from check(server.check_ports, *ports)
        for name in (field.name for field in fields(self) if getattr(self, field.name) is not None):
            yield from check(server.check_option_release.at("server", name), name, release)
            if name in ranges.SERVER_OPTIONS:
                value = getattr(self, name)
                value = value.to_mebibytes() if isinstance(value, Size) else value
                argument = f"container.options.{name}"
                yield from check(ranges.SERVER_OPTIONS[name], value, argument=argument)
