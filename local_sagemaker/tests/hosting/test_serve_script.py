from pathlib import Path

import pytest

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.hosting.serve_script import (
    SAGEMAKER_PORT,
    ServeCommand,
    multi_model,
    single_model,
)

IMAGE = "triton.dkr.ecr.amazonaws.com/sagemaker-tritonserver:{}-py3-cpu"
PING_MODE_NOTE = 'Triton is running in SageMaker MME mode. Using Triton ping mode: "{}"'
DEFAULTS = [
    "--allow-sagemaker=true",
    "--allow-http=false",
    "--model-control-mode=explicit",
    "--model-repository=/tmp/sagemaker",
    "--model-namespacing=true",
    "--sagemaker-port=8080",
    "--allow-grpc=false",
    "--allow-metrics=false",
    "--log-verbose=true",
    "--backend-config=python,shm-default-byte-size=16777216",
    "--backend-config=python,shm-growth-byte-size=1048576",
]


def command(*, release: str = "24.09", **environment: str) -> ServeCommand:
    return multi_model(environment, image=IMAGE.format(release), repository="/tmp/sagemaker")


def arguments(**environment: str) -> list[str]:
    return list(command(**environment).arguments)


def test_default_arguments_match_the_image() -> None:
    assert arguments() == DEFAULTS
    assert SAGEMAKER_PORT == 8080


@pytest.mark.parametrize(
    ("variable", "value", "argument"),
    [
        ("TRITON_LOG_VERBOSE", "false", "--log-verbose=false"),
        ("TRITON_SHM_DEFAULT_BYTE_SIZE", "4", "--backend-config=python,shm-default-byte-size=4"),
        ("TRITON_SHM_GROWTH_BYTE_SIZE", "4", "--backend-config=python,shm-growth-byte-size=4"),
        ("TRITON_ALLOW_METRICS", "true", "--allow-metrics=true"),
        ("TRITON_ALLOW_GRPC", "true", "--allow-grpc=true"),
        # The image's script does not negate the value: false switches namespacing off.
        ("TRITON_DISABLE_MODEL_NAMESPACING", "false", "--model-namespacing=false"),
        ("TRITON_THREAD_COUNT", "4", "--sagemaker-thread-count=4"),
        ("TRITON_BUFFER_MANAGER_THREAD_COUNT", "4", "--buffer-manager-thread-count=4"),
        ("TRITON_LOG_INFO", "4", "--log-info=4"),
        ("TRITON_LOG_WARNING", "4", "--log-warning=4"),
        ("TRITON_LOG_ERROR", "4", "--log-error=4"),
        ("TRITON_GRPC_PORT", "4", "--grpc-port=4"),
        ("TRITON_METRICS_PORT", "4", "--metrics-port=4"),
        ("TRITON_TENSORFLOW_VERSION", "4", "--backend-config=tensorflow,version=4"),
        ("SAFE_PORT_RANGE", "4", "--sagemaker-safe-port-range=4"),
    ],
)
def test_variable_replaces_or_adds_an_argument(variable: str, value: str, argument: str) -> None:
    flag = argument.rpartition("=")[0]
    others = [default for default in DEFAULTS if not default.startswith(f"{flag}=")]
    assert sorted(arguments(**{f"SAGEMAKER_{variable}": value})) == sorted([*others, argument])


def test_additional_arguments_come_last() -> None:
    additional = "--log-verbose=2  --backend-config=onnxruntime,default-max-batch-size=8"
    assert arguments(SAGEMAKER_TRITON_ADDITIONAL_ARGS=additional) == [
        *DEFAULTS,
        "--log-verbose=2",
        "--backend-config=onnxruntime,default-max-batch-size=8",
    ]


def test_empty_setting_is_ignored() -> None:
    empty = {
        "SAGEMAKER_TRITON_LOG_VERBOSE": "",
        "SAGEMAKER_TRITON_THREAD_COUNT": "",
        "SAGEMAKER_TRITON_INFERENCE_TYPE": "",
        "SAGEMAKER_TRITON_MODEL_LOAD_GPU_LIMIT": "",
        "SAGEMAKER_BIND_TO_PORT": "",
    }
    serve_command = command(release="25.09", **empty)
    assert list(serve_command.arguments) == DEFAULTS
    assert serve_command.log_lines == (PING_MODE_NOTE.format("live"),)


def test_port_other_than_8080_is_refused() -> None:
    assert arguments(SAGEMAKER_BIND_TO_PORT="8080") == DEFAULTS
    with pytest.raises(
        LocalSageMakerError, match=r"^SAGEMAKER_BIND_TO_PORT is 8000: .* at port 8080"
    ):
        command(SAGEMAKER_BIND_TO_PORT="8000")


def test_gpu_memory_limit_without_effect_is_logged() -> None:
    serve_command = command(SAGEMAKER_TRITON_MODEL_LOAD_GPU_LIMIT="0.8")
    assert list(serve_command.arguments) == DEFAULTS
    assert serve_command.log_lines == (
        "LOCAL SAGEMAKER: SAGEMAKER_TRITON_MODEL_LOAD_GPU_LIMIT has no effect: there is no GPU",
        PING_MODE_NOTE.format("live"),
    )


# Ping mode

PING_MODE, OVERRIDE = "SAGEMAKER_TRITON_PING_MODE", "SAGEMAKER_TRITON_OVERRIDE_PING_MODE"


@pytest.mark.parametrize(
    ("environment", "exported", "ping_mode"),
    [
        ({}, None, "live"),  # the script does not export the default
        ({OVERRIDE: "ready"}, None, "ready"),
        ({PING_MODE: "live"}, "live", "live"),
        ({PING_MODE: "ready"}, "live", "live"),  # the script sets live for several models
        ({PING_MODE: ""}, "live", "live"),
        ({PING_MODE: "live", OVERRIDE: "ready"}, "ready", "ready"),
    ],
)
def test_only_override_changes_the_ping_mode(
    environment: dict[str, str], exported: str | None, ping_mode: str
) -> None:
    serve_command = command(**environment)
    assert serve_command.environment.get(PING_MODE) == exported
    assert serve_command.log_lines == (PING_MODE_NOTE.format(ping_mode),)
    assert serve_command.ping == "/ping"


# Settings that depend on the release


def test_image_of_ones_own_is_replaced_with_a_line_in_the_log(tmp_path: Path) -> None:
    own = f"111122223333.dkr.ecr.us-east-1.amazonaws.com/teams/triton@sha256:{'0a' * 32}"
    (tmp_path / "tokens").mkdir()
    single = single_model({}, image=own, archive=tmp_path, repository="/models")
    for serve_command in (multi_model({}, image=own, repository="/tmp/sagemaker"), single):
        assert serve_command.log_lines[0] == (
            f"LOCAL SAGEMAKER: the Triton of this machine serves instead of {own}"
        )


def test_setting_newer_than_the_release_is_logged() -> None:
    serve_command = command(release="23.06", SAGEMAKER_TRITON_ALLOW_GRPC="true")
    assert list(serve_command.arguments) == DEFAULTS
    assert serve_command.log_lines[0] == (
        "LOCAL SAGEMAKER: SAGEMAKER_TRITON_ALLOW_GRPC has no effect: 23.06 does not have it; "
        "the first release with it is 23.07"
    )
    assert "--allow-grpc=true" in command(
        release="23.07", SAGEMAKER_TRITON_ALLOW_GRPC="true"
    ).arguments  # fmt: skip


@pytest.mark.parametrize("image", ["triton", "registry:5000/own-triton", "own-triton:v1"])
def test_image_of_unknown_release_has_all_settings_checked(image: str) -> None:
    environment = {"SAGEMAKER_TRITON_INFERENCE_TYPE": "chat"}
    with pytest.raises(LocalSageMakerError) as refused:
        multi_model(environment, image=image, repository="")
    assert str(refused.value) == (
        "ERROR: Invalid SAGEMAKER_TRITON_INFERENCE_TYPE 'chat'. Must be one of: infer, generate, "
        "generate_stream"
    )


def test_multi_model_ignores_the_inference_type() -> None:
    serve_command = command(release="25.09", SAGEMAKER_TRITON_INFERENCE_TYPE="generate")
    assert list(serve_command.arguments) == DEFAULTS
    assert serve_command.ping == "/ping"


# One model

DEFAULT_MODEL = "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"
INFERENCE_TYPE = "SAGEMAKER_TRITON_INFERENCE_TYPE"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An unpacked archive with one model, and a file and a link beside it."""
    (tmp_path / "minilm").mkdir()
    (tmp_path / "NOTICE").touch()
    (tmp_path / "link").symlink_to("minilm")
    return tmp_path


def single(archive: Path, *, release: str = "25.09", **environment: str) -> ServeCommand:
    image = IMAGE.format(release)
    return single_model(environment, image=image, archive=archive, repository="/opt/ml/model")


def test_single_model_arguments(archive: Path) -> None:
    serve_command = single(archive, SAGEMAKER_TRITON_ADDITIONAL_ARGS="--log-verbose=2")
    expected = [default.replace("/tmp/sagemaker", "/opt/ml/model") for default in DEFAULTS]
    assert list(serve_command.arguments) == [*expected, "--log-verbose=2", "--load-model=minilm"]
    assert (serve_command.ping, serve_command.invocations) == ("/ping", "/invocations")


def test_default_model_is_required_for_several_folders(archive: Path) -> None:
    (archive / "tokenizer").mkdir()
    serve_command = single(archive, **{DEFAULT_MODEL: "tokenizer"})
    assert serve_command.arguments[-1] == "--load-model=tokenizer"
    assert (serve_command.environment, serve_command.log_lines) == (
        {DEFAULT_MODEL: "tokenizer"},
        (),
    )
    with pytest.raises(LocalSageMakerError) as refused:
        single(archive)
    assert str(refused.value) == (
        "ERROR: More than 1 model directory found in model repository. Either provide a single "
        f"directory or set {DEFAULT_MODEL} to run the ensemble backend. Directories found: minilm, "
        "tokenizer"
    )


def test_archive_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalSageMakerError, match=r"^ERROR: No model found in model repository"):
        single(tmp_path)


def test_default_model_missing_in_the_archive_is_refused(archive: Path) -> None:
    with pytest.raises(LocalSageMakerError) as refused:
        single(archive, **{DEFAULT_MODEL: "NOTICE"})
    assert str(refused.value) == (
        f"ERROR: Directory with provided {DEFAULT_MODEL} NOTICE does not exist in the archive, "
        "which has minilm"
    )


def test_config_at_the_archive_root_is_refused(archive: Path) -> None:
    (archive / "config.pbtxt").touch()
    with pytest.raises(LocalSageMakerError, match="needs to contain the top level folder"):
        single(archive, **{DEFAULT_MODEL: "minilm"})


def test_ping_mode_of_a_single_model_is_ready(archive: Path) -> None:
    assert single(archive, **{PING_MODE: "live"}).environment[PING_MODE] == "ready"
    both = {PING_MODE: "live", OVERRIDE: "live"}
    assert single(archive, **both).environment[PING_MODE] == "live"


def test_invalid_inference_type_is_refused(archive: Path) -> None:
    assert single(archive, **{INFERENCE_TYPE: "infer"}).invocations == "/invocations"
    with pytest.raises(LocalSageMakerError, match=f"^ERROR: Invalid {INFERENCE_TYPE} 'Generate'"):
        single(archive, **{INFERENCE_TYPE: "Generate"})


def test_inference_type_is_ignored_before_release_25_03(archive: Path) -> None:
    serve_command = single(archive, release="24.09", **{INFERENCE_TYPE: "generate"})
    assert serve_command.invocations == "/invocations"
    assert serve_command.log_lines[0] == (
        f"LOCAL SAGEMAKER: {INFERENCE_TYPE} has no effect: 24.09 does not have it; "
        "the first release with it is 25.03"
    )
