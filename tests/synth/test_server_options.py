"""ServerOptions: every option as the variable that `serve` reads."""

import pytest
from aws_cdk import Size

from triton_sagemaker import PublishedMetrics, ServerOptions


def test_defaults_say_little() -> None:
    assert ServerOptions().environment("live") == {
        "SAGEMAKER_TRITON_LOG_VERBOSE": "false",
        "SAGEMAKER_TRITON_OVERRIDE_PING_MODE": "live",
        "SAGEMAKER_TRITON_PING_MODE": "live",
    }


@pytest.mark.parametrize(
    ("option", "value", "variables"),
    [
        ("additional_args", "--x=1", {"SAGEMAKER_TRITON_ADDITIONAL_ARGS": "--x=1"}),
        ("buffer_manager_thread_count", 2, {"SAGEMAKER_TRITON_BUFFER_MANAGER_THREAD_COUNT": "2"}),
        ("inference_type", "generate", {"SAGEMAKER_TRITON_INFERENCE_TYPE": "generate"}),
        ("log_error", False, {"SAGEMAKER_TRITON_LOG_ERROR": "false"}),
        ("log_info", True, {"SAGEMAKER_TRITON_LOG_INFO": "true"}),
        ("log_verbose", 2, {"SAGEMAKER_TRITON_LOG_VERBOSE": "2"}),
        ("log_warning", False, {"SAGEMAKER_TRITON_LOG_WARNING": "false"}),
        ("model_load_gpu_limit", 0.8, {"SAGEMAKER_TRITON_MODEL_LOAD_GPU_LIMIT": "0.8"}),
        ("model_namespacing", False, {"SAGEMAKER_TRITON_DISABLE_MODEL_NAMESPACING": "false"}),
        (
            "ping_mode",
            "ready",
            {
                "SAGEMAKER_TRITON_OVERRIDE_PING_MODE": "ready",
                "SAGEMAKER_TRITON_PING_MODE": "ready",
            },
        ),
        (
            "publish_metrics",
            PublishedMetrics(log_group="/triton", namespace="Triton"),
            {
                "SAGEMAKER_TRITON_ALLOW_METRICS": "true",
                "SAGEMAKER_TRITON_CLOUDWATCH_LOG_GROUP": "/triton",
                "SAGEMAKER_TRITON_CLOUDWATCH_METRIC_NAMESPACE": "Triton",
                "SAGEMAKER_TRITON_METRIC_NAMESPACE": "Triton",
                "SAGEMAKER_TRITON_PUBLISH_METRICS_TO_CLOUDWATCH": "true",
            },
        ),
        (
            "python_shm_default",
            Size.mebibytes(1),
            {"SAGEMAKER_TRITON_SHM_DEFAULT_BYTE_SIZE": "1048576"},
        ),
        (
            "python_shm_growth",
            Size.gibibytes(1),
            {"SAGEMAKER_TRITON_SHM_GROWTH_BYTE_SIZE": "1073741824"},
        ),
        ("thread_count", 4, {"SAGEMAKER_TRITON_THREAD_COUNT": "4"}),
    ],
)
def test_each_option_sets_its_variables(
    option: str, value: object, variables: dict[str, str]
) -> None:
    options = ServerOptions(**{option: value})  # type: ignore[arg-type]
    assert variables.items() <= options.environment("live").items()
