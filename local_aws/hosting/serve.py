"""What the image's `serve` script does: a container environment to tritonserver's arguments.

Source: triton-inference-server/server, docker/sagemaker/serve (25.03 on).
"""

from pathlib import Path

from local_aws.errors import LocalAwsError

SAGEMAKER_PORT = 8080
DEFAULT_MODEL = "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"

_FLAGS = {
    "SAGEMAKER_TRITON_THREAD_COUNT": "--sagemaker-thread-count={}",
    "SAGEMAKER_TRITON_BUFFER_MANAGER_THREAD_COUNT": "--buffer-manager-thread-count={}",
    "SAGEMAKER_TRITON_LOG_VERBOSE": "--log-verbose={}",
    "SAGEMAKER_TRITON_LOG_INFO": "--log-info={}",
    "SAGEMAKER_TRITON_LOG_WARNING": "--log-warning={}",
    "SAGEMAKER_TRITON_LOG_ERROR": "--log-error={}",
    "SAGEMAKER_TRITON_SHM_DEFAULT_BYTE_SIZE": "--backend-config=python,shm-default-byte-size={}",
    "SAGEMAKER_TRITON_SHM_GROWTH_BYTE_SIZE": "--backend-config=python,shm-growth-byte-size={}",
    "SAGEMAKER_TRITON_ALLOW_METRICS": "--allow-metrics={}",
    "SAGEMAKER_TRITON_DISABLE_MODEL_NAMESPACING": "--model-namespacing={}",
}
_DEFAULTS = {
    "SAGEMAKER_TRITON_LOG_VERBOSE": "true",
    "SAGEMAKER_TRITON_SHM_DEFAULT_BYTE_SIZE": "16777216",
    "SAGEMAKER_TRITON_SHM_GROWTH_BYTE_SIZE": "1048576",
    "SAGEMAKER_TRITON_ALLOW_METRICS": "false",
    "SAGEMAKER_TRITON_DISABLE_MODEL_NAMESPACING": "true",
}


def multi_model_arguments(environment: dict[str, str], *, repository: str) -> list[str]:
    """Return tritonserver's arguments for a container in mode MultiModel.

    `repository` is the empty model repository that `serve` makes: models are loaded one by one.
    """
    return [*_arguments(environment, repository), *_additional(environment)]


def single_model_arguments(environment: dict[str, str], *, repository: Path) -> list[str]:
    """Return tritonserver's arguments for a container in mode SingleModel.

    `repository` is the unpacked archive, `/opt/ml/model` in the container. Raises `LocalAwsError`
    where `serve` would end the container: it must know which one model to load.
    """
    name = default_model(environment, repository)
    return [
        *_arguments(environment, str(repository)),
        f"--load-model={name}",
        *_additional(environment),
    ]


def default_model(environment: dict[str, str], repository: Path) -> str:
    """Return the model that /invocations answers with, chosen as `serve` does."""
    if (repository / "config.pbtxt").exists():
        raise LocalAwsError(
            "ERROR: Model directory needs to contain the top level folder: the archive has a "
            "config.pbtxt at its root"
        )
    folders = sorted(path.name for path in repository.iterdir() if path.is_dir())
    name = environment.get(DEFAULT_MODEL)
    if name:
        if name not in folders:
            raise LocalAwsError(
                f"ERROR: Directory with provided {DEFAULT_MODEL} {name} does not exist in the "
                f"archive, which has {', '.join(folders) or 'no folder'}"
            )
        return name
    if len(folders) != 1:
        raise LocalAwsError(
            f"ERROR: {DEFAULT_MODEL} is not set and the archive has {len(folders)} folders "
            f"({', '.join(folders)}): set it to the one to serve"
        )
    return folders[0]


def _arguments(environment: dict[str, str], repository: str) -> list[str]:
    # `serve` asks with [ -n "$NAME" ] and ${NAME:-default}: an empty variable is one not set.
    values = {**_DEFAULTS, **{name: value for name, value in environment.items() if value}}
    return [
        "--allow-sagemaker=true",
        "--allow-http=false",
        "--allow-grpc=false",
        f"--sagemaker-port={SAGEMAKER_PORT}",
        "--model-control-mode=explicit",
        f"--model-repository={repository}",
        *(flag.format(values[name]) for name, flag in _FLAGS.items() if name in values),
    ]


def _additional(environment: dict[str, str]) -> list[str]:
    return environment.get("SAGEMAKER_TRITON_ADDITIONAL_ARGS", "").split()
