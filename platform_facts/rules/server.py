"""Rules about options of the Triton server."""

from platform_facts import InstanceType, Release, serve_option_since
from platform_facts.rules.ranges import SERVE
from platform_facts.rules.rule import rule

SERVER = "triton-inference-server/server, src/sagemaker_server.cc"


@rule("server", "platform_facts/releases.toml, serve_option")
def check_option_release(option: str, release: Release) -> str | None:
    """The `serve` script of the release supports every option, including `publish_metrics`."""
    since = serve_option_since(option)
    if since is None or release.name >= since:
        return None
    return f"release {release.name} does not have it: remove it, or write release {since} or newer"


@rule("server.inference_type", SERVER)
def check_infer_only(inference_type: str | None) -> str | None:
    """With `hosting: multi-model`, `inference_type` is `infer`."""
    if inference_type in (None, "infer"):
        return None
    return (
        f"multi-model endpoints support infer only, not {inference_type}: remove it, or host a "
        "single model"
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
