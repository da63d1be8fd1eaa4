"""Rules about options of the Triton server."""

from collections.abc import Mapping

from platform_facts import InstanceType, Release, serve_option_since
from platform_facts.rules.ranges import SERVE
from platform_facts.rules.rule import rule

DEFAULT_MODEL = "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"
"""The variable with the directory of an archive that a single-model container serves."""
VARIABLES = {
    "additional_args": "ADDITIONAL_ARGS",
    "allow_grpc": "ALLOW_GRPC",
    "buffer_manager_thread_count": "BUFFER_MANAGER_THREAD_COUNT",
    "grpc_port": "GRPC_PORT",
    "metrics_port": "METRICS_PORT",
    # The value of --model-namespacing: true enables namespacing in spite of the name.
    "model_namespacing": "DISABLE_MODEL_NAMESPACING",
    "inference_type": "INFERENCE_TYPE",
    "log_error": "LOG_ERROR",
    "log_info": "LOG_INFO",
    "log_verbose": "LOG_VERBOSE",
    "log_warning": "LOG_WARNING",
    "model_load_gpu_limit": "MODEL_LOAD_GPU_LIMIT",
    "python_shm_default_mib": "SHM_DEFAULT_BYTE_SIZE",
    "python_shm_growth_mib": "SHM_GROWTH_BYTE_SIZE",
    "tensorflow_version": "TENSORFLOW_VERSION",
    "thread_count": "THREAD_COUNT",
}
"""Option of a stage's `server` -> variable of `serve`, after SAGEMAKER_TRITON_."""
GRPC_PORT, METRICS_PORT = 8001, 23000
"""The default ports: of gRPC Triton's, of metrics the one that this project sets."""
SERVER = "triton-inference-server/server, src/sagemaker_server.cc"
WITHOUT_TENSORFLOW_1 = "23.05"
"""The first image of SageMaker without it (aws/deep-learning-containers, available_images.md)."""


@rule("server", "platform_facts/releases.toml, serve_option")
def check_option_release(option: str, release: Release) -> str | None:
    """The `serve` script of the release supports every option, including `publish_metrics`."""
    since = serve_option_since(option)
    if since is None or release.name >= since:
        return None
    return f"release {release.name} does not have it: remove it, or write release {since} or newer"


@rule("server.inference_type", SERVER)
def check_inference_type_is_infer(inference_type: str | None) -> str | None:
    """With `hosting: multi-model`, `inference_type` is `infer`."""
    if inference_type in (None, "infer"):
        return None
    return (
        f"multi-model endpoints support infer only, not {inference_type}: remove it, or host a "
        "single model"
    )


@rule("server.tensorflow_version", "platform_facts/releases.toml, backend")
def check_tensorflow_version(version: int | None, release: Release) -> str | None:
    """`tensorflow_version` is of a TensorFlow that the release has."""
    if version is None:
        return None
    if "tensorflow" not in release.backends:
        return f"release {release.name} has no TensorFlow: remove it"
    if version == 1 and release.name >= WITHOUT_TENSORFLOW_1:
        return f"release {release.name} has TensorFlow 2 only: write 2, or remove it"
    return None


@rule("server", f"{SERVE}; triton-inference-server/server, src/command_line_parser.cc: 8001")
def check_ports(
    allow_grpc: bool | None, grpc_port: int | None, published: bool, metrics_port: int | None
) -> str | None:
    """The ports of gRPC and metrics, also their defaults, differ, and 8080 is SageMaker's."""
    grpc = grpc_port or (GRPC_PORT if allow_grpc else None)
    metrics = metrics_port or (METRICS_PORT if published else None)
    ports = [port for port in (grpc, metrics) if port is not None]
    if len({8080, *ports}) == 1 + len(ports):
        return None
    return (
        f"gRPC has the port {grpc or 'none'}, metrics {metrics or 'none'}, SageMaker 8080: "
        "write another grpc_port or metrics_port"
    )


ONE_RESPONSE = (
    f"{SERVER}: infer refuses decoupled models; botocore's model of sagemaker-runtime: "
    "InvokeEndpointWithResponseStream has no TargetModel"
)


@rule("models", ONE_RESPONSE)
def check_decoupled_model(model: str, decoupled: bool, inference_type: str | None) -> str | None:
    """A decoupled model requires `hosting: single-model` and `generate` or `generate_stream`."""
    if not decoupled or inference_type in ("generate", "generate_stream"):
        return None
    since = serve_option_since("inference_type")
    return (
        f"{model} is decoupled, and a multi-model endpoint and inference_type infer answer a "
        "request with one response: write hosting: single-model and server: { inference_type: "
        f"generate_stream }} with release {since} or newer, or remove decoupled: true"
    )


@rule("server.ping_mode", SERVE)
def check_ping_mode(ping_mode: str | None) -> str | None:
    """With `hosting: multi-model`, `ping_mode: ready` is not allowed."""
    if ping_mode != "ready":
        return None
    return (
        "ready makes a multi-model instance unhealthy as soon as one model fails to load: remove it"
    )


@rule("server.model_load_gpu_limit", SERVE)
def check_gpu_load_limit(limit: float | None, instance_type: InstanceType) -> str | None:
    """`model_load_gpu_limit` requires an instance type with a GPU."""
    if limit is None or instance_type.gpu:
        return None
    return f"{instance_type.name} has no GPU: remove it"


def variables(options: Mapping[str, object], *, multi_model: bool) -> dict[str, str]:
    """Return the options of a stage's `server` as environment variables of the container.

    Options that are None are left out. The ping mode is always set, because `serve` does not export
    its default, and the server would use `ready`: with it, a model of a multi-model endpoint that
    fails to load would make the instance unhealthy. Source: docker/sagemaker/serve.
    """
    ping_mode = options.get("ping_mode") or ("live" if multi_model else "ready")
    values = {
        name: _text(key, options[key])
        for key, name in VARIABLES.items()
        if options.get(key) is not None
    }
    values |= dict.fromkeys(("OVERRIDE_PING_MODE", "PING_MODE"), str(ping_mode))
    return {f"SAGEMAKER_TRITON_{name}": value for name, value in values.items()}


def metrics_variables(log_group: str, namespace: str) -> dict[str, str]:
    """Return the variables with which AWS's image publishes Triton's metrics to CloudWatch.

    The developer guide requires five (deploy-models-frameworks-triton), two of them in NVIDIA's
    `serve`. Both known spellings of the variable for the namespace are set. The port may be any
    that SageMaker does not block: a public script reports that an instance refused 8002, Triton's
    default, since its range of safe ports is 23000 to 23999.
    """
    return {
        "SAGEMAKER_TRITON_ALLOW_METRICS": "true",
        "SAGEMAKER_TRITON_METRICS_PORT": str(METRICS_PORT),
        "SAGEMAKER_TRITON_PUBLISH_METRICS_TO_CLOUDWATCH": "true",
        "SAGEMAKER_TRITON_CLOUDWATCH_LOG_GROUP": log_group,
        "SAGEMAKER_TRITON_METRIC_NAMESPACE": namespace,
        "SAGEMAKER_TRITON_CLOUDWATCH_METRIC_NAMESPACE": namespace,
    }


def _text(option: str, value: object) -> str:
    if option.endswith("_mib") and isinstance(value, int):
        return str(value * 2**20)
    if option == "log_verbose":
        value = value or False
    return str(value).lower() if isinstance(value, bool) else str(value)
