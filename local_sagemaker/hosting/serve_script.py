"""The `serve` script of Triton's image: tritonserver's command for a container's environment.

Source: triton-inference-server/server at each release's tag, docker/sagemaker/serve, and
src/command_line_parser.cc for the options of tritonserver.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.hosting.connections import THREADS
from local_sagemaker.prerequisites import PACKAGED_VERSION

SAGEMAKER_PORT = 8080
DEFAULT_MODEL = "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"

_MULTI_MODEL = "SAGEMAKER_MULTI_MODEL"
_PORT = "SAGEMAKER_BIND_TO_PORT"
_ADDITIONAL = "SAGEMAKER_TRITON_ADDITIONAL_ARGS"
_GPU_LIMIT = "SAGEMAKER_TRITON_MODEL_LOAD_GPU_LIMIT"
_INFERENCE_TYPE = "SAGEMAKER_TRITON_INFERENCE_TYPE"
_OVERRIDE_PING_MODE = "SAGEMAKER_TRITON_OVERRIDE_PING_MODE"
_PING_MODE = "SAGEMAKER_TRITON_PING_MODE"

_FLAGS = {
    "SAGEMAKER_TRITON_DISABLE_MODEL_NAMESPACING": "--model-namespacing={}",
    _PORT: "--sagemaker-port={}",
    "SAGEMAKER_SAFE_PORT_RANGE": "--sagemaker-safe-port-range={}",
    "SAGEMAKER_TRITON_ALLOW_GRPC": "--allow-grpc={}",
    "SAGEMAKER_TRITON_ALLOW_METRICS": "--allow-metrics={}",
    "SAGEMAKER_TRITON_METRICS_PORT": "--metrics-port={}",
    "SAGEMAKER_TRITON_GRPC_PORT": "--grpc-port={}",
    "SAGEMAKER_TRITON_BUFFER_MANAGER_THREAD_COUNT": "--buffer-manager-thread-count={}",
    "SAGEMAKER_TRITON_THREAD_COUNT": "--sagemaker-thread-count={}",
    "SAGEMAKER_TRITON_LOG_VERBOSE": "--log-verbose={}",
    "SAGEMAKER_TRITON_LOG_INFO": "--log-info={}",
    "SAGEMAKER_TRITON_LOG_WARNING": "--log-warning={}",
    "SAGEMAKER_TRITON_LOG_ERROR": "--log-error={}",
    "SAGEMAKER_TRITON_SHM_DEFAULT_BYTE_SIZE": "--backend-config=python,shm-default-byte-size={}",
    "SAGEMAKER_TRITON_SHM_GROWTH_BYTE_SIZE": "--backend-config=python,shm-growth-byte-size={}",
    "SAGEMAKER_TRITON_TENSORFLOW_VERSION": "--backend-config=tensorflow,version={}",
    _ADDITIONAL: "{}",
}
_DEFAULTS = {
    "SAGEMAKER_TRITON_DISABLE_MODEL_NAMESPACING": "true",  # the value is not negated
    _PORT: str(SAGEMAKER_PORT),  # tritonserver's own
    "SAGEMAKER_TRITON_ALLOW_GRPC": "false",
    "SAGEMAKER_TRITON_ALLOW_METRICS": "false",
    "SAGEMAKER_TRITON_LOG_VERBOSE": "true",
    "SAGEMAKER_TRITON_SHM_DEFAULT_BYTE_SIZE": "16777216",
    "SAGEMAKER_TRITON_SHM_GROWTH_BYTE_SIZE": "1048576",
}

# The first release whose script reads a variable; 23.02 reads all other variables. Further
# differences of old scripts are not emulated: before 23.04 they do not namespace models.
_FIRST_RELEASES = {
    "SAGEMAKER_TRITON_DISABLE_MODEL_NAMESPACING": "23.04",
    _ADDITIONAL: "23.07",
    "SAGEMAKER_TRITON_ALLOW_GRPC": "23.07",
    "SAGEMAKER_TRITON_ALLOW_METRICS": "23.07",
    "SAGEMAKER_TRITON_GRPC_PORT": "23.07",
    "SAGEMAKER_TRITON_METRICS_PORT": "23.07",
    _OVERRIDE_PING_MODE: "23.07",
    _INFERENCE_TYPE: "25.03",
}

_GENERATE_TYPES = ("generate", "generate_stream")
_FIRST_WITH_GENERATE = (2, 56)


@dataclass(frozen=True)
class ServeCommand:
    """Arguments and environment variables of tritonserver. Its log begins with `log_lines`.

    `ping` and `invocations` are the HTTP paths of the health check and of invocations.
    """

    arguments: tuple[str, ...]
    environment: dict[str, str]
    log_lines: tuple[str, ...]
    ping: str = "/ping"
    invocations: str = "/invocations"

    @property
    def threads(self) -> int:
        """The number of threads of the HTTP server; the last argument counts."""
        text = " ".join(self.arguments)
        counts: list[str] = re.findall(r"--sagemaker-thread-count[= ](\d+)", text)
        return int(counts[-1]) if counts else THREADS


def multi_model(environment: dict[str, str], *, image: str, repository: str) -> ServeCommand:
    """Return the command of a container in mode MultiModel.

    `repository` is an empty model repository. Raise `LocalSageMakerError` if `serve` or
    tritonserver would exit with this environment, or if it is not emulated.
    """
    release, environment = _release(image), {**environment, _MULTI_MODEL: "true"}
    variables = _supported_variables(environment, release)
    ping_mode = variables.get(_OVERRIDE_PING_MODE, "live")
    arguments = _arguments(variables, repository)
    _check_inference_type(variables)
    mode = f'Triton is running in SageMaker MME mode. Using Triton ping mode: "{ping_mode}"'
    return ServeCommand(
        (*_SAGEMAKER, *arguments),
        _server_environment(environment, ping_mode),
        (*_log_lines(environment, image), mode),
    )


def single_model(
    environment: dict[str, str],
    *,
    image: str,
    archive: Path,
    repository: str,
    server: tuple[int, int] = PACKAGED_VERSION,
) -> ServeCommand:
    """Return the command of a container in mode SingleModel.

    `archive` is the folder of the unpacked archive, `repository` its path as the server sees it,
    and `server` the version of tritonserver. Raise `LocalSageMakerError` as `multi_model` does, and
    if `serve` cannot choose a model.
    """
    release = _release(image)
    variables = _supported_variables(environment, release)
    ping_mode = variables.get(_OVERRIDE_PING_MODE, "ready")
    arguments = _arguments(variables, repository)
    if (archive / "config.pbtxt").is_file():
        raise LocalSageMakerError(
            "ERROR: Incorrect directory structure. Model directory needs to contain the top level "
            "folder: the archive has a config.pbtxt at its root"
        )
    _check_inference_type(variables)
    model, warnings = _default_model(variables, archive)
    server_environment = {**_server_environment(environment, ping_mode), DEFAULT_MODEL: model}
    command = ServeCommand(
        (*_SAGEMAKER, *arguments, f"--load-model={model}"),
        server_environment,
        (*_log_lines(environment, image), *warnings),
    )
    inference_type = variables.get(_INFERENCE_TYPE)
    if inference_type in _GENERATE_TYPES and server < _FIRST_WITH_GENERATE:
        return _with_generate_routes(command, model, str(inference_type))
    return command


_SAGEMAKER = (
    "--allow-sagemaker=true",
    "--allow-http=false",
    "--model-control-mode=explicit",
)


def _with_generate_routes(command: ServeCommand, model: str, inference_type: str) -> ServeCommand:
    """Return a command whose server uses the generate extension for invocations.

    Its SageMaker routes do not support the extension; its HTTP routes run the same code. Source:
    src/sagemaker_server.cc at v2.56.0 calls HTTPAPIServer::HandleGenerate.
    """
    http_routes = ("--allow-http=true", f"--http-port={SAGEMAKER_PORT}", "--allow-sagemaker=false")
    mode = "live" if command.environment.get(_PING_MODE) == "live" else "ready"
    return replace(
        command,
        arguments=(*command.arguments, *http_routes),
        ping=f"/v2/health/{mode}",
        invocations=f"/v2/models/{model}/{inference_type}",
    )


def _release(image: str) -> str | None:
    """Return the release in an image's tag, such as 24.09; None if the tag has none."""
    match = re.search(r":(\d\d\.\d\d)-py3", image)
    return match[1] if match else None


def _is_at_least(release: str | None, since: str) -> bool:
    return release is None or release >= since


def _supported_variables(environment: dict[str, str], release: str | None) -> dict[str, str]:
    """Return the variables that a release's script reads; it ignores empty ones (`[ -n ... ]`)."""
    return {
        name: value
        for name, value in environment.items()
        if value and _is_at_least(release, _FIRST_RELEASES.get(name, ""))
    }


def _log_lines(environment: dict[str, str], image: str) -> Iterator[str]:
    """Yield log lines about an image that is not AWS's, and variables that have no effect."""
    release = _release(image)
    if release is None and image:
        yield f"LOCAL SAGEMAKER: the Triton of this machine serves instead of {image}"
    for name, since in _FIRST_RELEASES.items():
        if environment.get(name) and not _is_at_least(release, since):
            reason = f"{release} does not have it; the first release with it is {since}"
            yield f"LOCAL SAGEMAKER: {name} has no effect: {reason}"
    # `serve` adds a limit for each GPU in the output of nvidia-smi.
    if _GPU_LIMIT in _supported_variables(environment, release):
        yield f"LOCAL SAGEMAKER: {_GPU_LIMIT} has no effect: there is no GPU"


def _server_environment(environment: dict[str, str], ping_mode: str) -> dict[str, str]:
    """Return the environment variables of the server, whose default ping mode is `ready`.

    `serve` sets the ping mode without exporting it: it only has an effect if the container already
    has the variable.
    """
    exported = {_PING_MODE: ping_mode} if _PING_MODE in environment else {}
    return {**environment, **exported}


def _check_inference_type(variables: dict[str, str]) -> None:
    kind = variables.get(_INFERENCE_TYPE, "infer")
    if kind not in ("infer", *_GENERATE_TYPES):
        raise LocalSageMakerError(
            f"ERROR: Invalid {_INFERENCE_TYPE} '{kind}'. Must be one of: infer, "
            f"{', '.join(_GENERATE_TYPES)}"
        )


def _arguments(variables: dict[str, str], repository: str) -> Iterable[str]:
    values = {**_DEFAULTS, **variables}
    if values[_PORT] != _DEFAULTS[_PORT]:
        # Source: developer guide, "Custom Inference Code with Hosting Services" (a container
        # listens on port 8080) and "Troubleshoot multi-container endpoints" (on the port of the
        # variable, which SageMaker sets itself, where there are several containers).
        raise LocalSageMakerError(
            f"{_PORT} is {values[_PORT]}: SageMaker calls the only container of an endpoint at "
            f"port {SAGEMAKER_PORT}, where nothing would listen: leave it out"
        )
    flags = (flag.format(values[name]) for name, flag in _FLAGS.items() if name in values)
    # $SAGEMAKER_ARGS is unquoted in the script: a value with spaces becomes several arguments.
    return [f"--model-repository={repository}", *(word for flag in flags for word in flag.split())]


def _default_model(variables: dict[str, str], archive: Path) -> tuple[str, tuple[str, ...]]:
    """Return the model for /invocations, and the log lines of `serve` about its choice."""
    folders = sorted(
        path.name for path in archive.iterdir() if path.is_dir() and not path.is_symlink()
    )
    if name := variables.get(DEFAULT_MODEL):
        if not (archive / name).is_dir():
            raise LocalSageMakerError(
                f"ERROR: Directory with provided {DEFAULT_MODEL} {name} does not exist in the "
                f"archive, which has {', '.join(folders) or 'no folder'}"
            )
        return name, ()
    if not folders:
        raise LocalSageMakerError(
            "ERROR: No model found in model repository: the archive has no folder"
        )
    if len(folders) > 1:
        raise LocalSageMakerError(
            "ERROR: More than 1 model directory found in model repository. Either provide a single "
            f"directory or set {DEFAULT_MODEL} to run the ensemble backend. Directories found: "
            f"{', '.join(folders)}"
        )
    (model,) = folders
    return model, (
        f"WARNING: No {DEFAULT_MODEL} provided.",
        f"         Starting with the only existing model directory {model}",
    )
