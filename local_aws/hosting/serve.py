"""What the image's `serve` script does: a container environment to tritonserver's arguments.

Source: triton-inference-server/server, docker/sagemaker/serve (25.03 on; the parts for single
models come with single-model hosting).
"""

SAGEMAKER_PORT = 8080

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
    values = {**_DEFAULTS, **environment}
    return [
        "--allow-sagemaker=true",
        "--allow-http=false",
        "--allow-grpc=false",
        f"--sagemaker-port={SAGEMAKER_PORT}",
        "--model-control-mode=explicit",
        f"--model-repository={repository}",
        *(flag.format(values[name]) for name, flag in _FLAGS.items() if name in values),
        *values.get("SAGEMAKER_TRITON_ADDITIONAL_ARGS", "").split(),
    ]
