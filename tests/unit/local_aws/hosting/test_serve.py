from pathlib import Path

import pytest

from local_aws.errors import LocalAwsError
from local_aws.hosting.serve import (
    SAGEMAKER_PORT,
    default_model,
    multi_model_arguments,
    single_model_arguments,
)

DEFAULTS = [
    "--allow-sagemaker=true",
    "--allow-http=false",
    "--allow-grpc=false",
    "--sagemaker-port=8080",
    "--model-control-mode=explicit",
    "--model-repository=/tmp/sagemaker",
    "--log-verbose=true",
    "--backend-config=python,shm-default-byte-size=16777216",
    "--backend-config=python,shm-growth-byte-size=1048576",
    "--allow-metrics=false",
    "--model-namespacing=true",
]


def arguments(**environment: str) -> list[str]:
    return multi_model_arguments(environment, repository="/tmp/sagemaker")


def test_without_settings_the_server_starts_as_the_images_serve_script_starts_it() -> None:
    assert arguments() == DEFAULTS
    assert SAGEMAKER_PORT == 8080


@pytest.mark.parametrize(
    ("variable", "value", "argument", "instead_of"),
    [
        ("LOG_VERBOSE", "false", "--log-verbose=false", "--log-verbose=true"),
        (
            "SHM_DEFAULT_BYTE_SIZE",
            "33554432",
            "--backend-config=python,shm-default-byte-size=33554432",
            "--backend-config=python,shm-default-byte-size=16777216",
        ),
        (
            "SHM_GROWTH_BYTE_SIZE",
            "2097152",
            "--backend-config=python,shm-growth-byte-size=2097152",
            "--backend-config=python,shm-growth-byte-size=1048576",
        ),
        ("ALLOW_METRICS", "true", "--allow-metrics=true", "--allow-metrics=false"),
        # The variable is named for what it does when it is "false".
        (
            "DISABLE_MODEL_NAMESPACING",
            "false",
            "--model-namespacing=false",
            "--model-namespacing=true",
        ),
    ],
)
def test_a_setting_replaces_its_default(
    variable: str, value: str, argument: str, instead_of: str
) -> None:
    expected = [argument if it == instead_of else it for it in DEFAULTS]
    assert sorted(arguments(**{f"SAGEMAKER_TRITON_{variable}": value})) == sorted(expected)


@pytest.mark.parametrize(
    ("variable", "argument"),
    [
        ("THREAD_COUNT", "--sagemaker-thread-count=4"),
        ("BUFFER_MANAGER_THREAD_COUNT", "--buffer-manager-thread-count=4"),
        ("LOG_INFO", "--log-info=4"),
        ("LOG_WARNING", "--log-warning=4"),
        ("LOG_ERROR", "--log-error=4"),
    ],
)
def test_a_setting_without_a_default_adds_its_argument(variable: str, argument: str) -> None:
    assert sorted(arguments(**{f"SAGEMAKER_TRITON_{variable}": "4"})) == sorted(
        [*DEFAULTS, argument]
    )


def test_additional_arguments_come_last_so_that_they_win() -> None:
    additional = "--log-verbose=2  --backend-config=onnxruntime,default-max-batch-size=8"
    assert arguments(SAGEMAKER_TRITON_ADDITIONAL_ARGS=additional) == [
        *DEFAULTS,
        "--log-verbose=2",
        "--backend-config=onnxruntime,default-max-batch-size=8",
    ]


def test_the_models_own_variables_are_no_arguments() -> None:
    assert arguments(SAGEMAKER_MULTI_MODEL="true", OMP_NUM_THREADS="1") == DEFAULTS


def test_an_empty_setting_is_one_that_is_not_set() -> None:
    empty = {"SAGEMAKER_TRITON_LOG_VERBOSE": "", "SAGEMAKER_TRITON_THREAD_COUNT": ""}
    assert arguments(**empty) == DEFAULTS


# One model

DEFAULT_MODEL = "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An unpacked archive with one model, and a file beside it."""
    (tmp_path / "minilm").mkdir()
    (tmp_path / "NOTICE").touch()
    return tmp_path


def test_a_single_model_is_loaded_from_its_own_repository(repository: Path) -> None:
    expected = [
        f"--model-repository={repository}" if it.startswith("--model-repository") else it
        for it in DEFAULTS
    ]
    additional = {"SAGEMAKER_TRITON_ADDITIONAL_ARGS": "--log-verbose=2"}
    assert single_model_arguments(additional, repository=repository) == [
        *expected,
        "--load-model=minilm",
        "--log-verbose=2",
    ]


def test_the_only_folder_is_the_model(repository: Path) -> None:
    assert default_model({}, repository) == "minilm"


def test_the_model_of_many_is_named(repository: Path) -> None:
    (repository / "tokenizer").mkdir()
    assert default_model({DEFAULT_MODEL: "tokenizer"}, repository) == "tokenizer"
    with pytest.raises(LocalAwsError) as refused:
        default_model({}, repository)
    assert str(refused.value) == (
        f"ERROR: {DEFAULT_MODEL} is not set and the archive has 2 folders (minilm, tokenizer): "
        "set it to the one to serve"
    )


def test_a_model_that_the_archive_has_not_is_refused(repository: Path) -> None:
    with pytest.raises(LocalAwsError) as refused:
        default_model({DEFAULT_MODEL: "NOTICE"}, repository)
    assert str(refused.value) == (
        f"ERROR: Directory with provided {DEFAULT_MODEL} NOTICE does not exist in the archive, "
        "which has minilm"
    )


def test_a_configuration_at_the_archives_root_is_refused(repository: Path) -> None:
    (repository / "config.pbtxt").touch()
    with pytest.raises(LocalAwsError, match="needs to contain the top level folder"):
        default_model({DEFAULT_MODEL: "minilm"}, repository)
