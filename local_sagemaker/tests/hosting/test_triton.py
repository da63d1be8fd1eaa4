import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.hosting.triton import Triton
from local_sagemaker.prerequisites import Interpreter, TritonInstallation, _can_unshare
from local_sagemaker.tests.hosting.conftest import StartTriton, fake_servers, server_pid
from local_sagemaker.tests.support.waiting import TIMEOUT_SECONDS, eventually, runs


@pytest.fixture
def triton(start_triton: StartTriton) -> Triton:
    """A healthy fake server."""
    server = start_triton()
    server.wait_until_healthy(TIMEOUT_SECONDS)
    return server


@pytest.fixture(scope="module")
def module_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Triton]:
    folder = tmp_path_factory.mktemp("instance")
    with fake_servers(tmp_path_factory.mktemp("shared"), folder) as start:
        server = start()
        server.wait_until_healthy(TIMEOUT_SECONDS)
        yield server


@pytest.fixture
def shared(module_server: Triton) -> Triton:
    """A healthy fake server that several tests share."""
    return module_server


def get(triton: Triton, path: str, *, timeout: float = TIMEOUT_SECONDS) -> bytes:
    return triton.request("GET", path, timeout=timeout).body


def test_server_has_only_the_environment_of_the_container(
    start_triton: StartTriton, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    triton = start_triton("--log-verbose=true", environment={"OMP_NUM_THREADS": "1"})
    triton.wait_until_healthy(TIMEOUT_SECONDS)
    arguments, environment = json.loads(get(triton, "/started-with"))
    assert arguments[0] == f"--backend-directory={tmp_path / 'backends'}"
    assert arguments[-1] == "--log-verbose=true"
    assert environment["OMP_NUM_THREADS"] == "1"
    assert environment["LD_LIBRARY_PATH"] == str(tmp_path / "libpython")
    python = tmp_path / "backends" / "python" / "environment" / "bin"
    assert environment["PATH"].split(os.pathsep)[0] == str(python)
    assert "AWS_SECRET_ACCESS_KEY" not in environment


@pytest.mark.parametrize(
    "isolated",
    [False, pytest.param(True, marks=pytest.mark.skipif(not _can_unshare(), reason="no unshare"))],
)
def test_environment_of_the_container_starts_no_code_outside_of_the_sandbox(
    start_triton: StartTriton, tmp_path: Path, isolated: bool
) -> None:
    """Programs that start the sandbox must not look up commands or modules in the Model's."""
    attack = tmp_path / "attack"
    attack.mkdir()
    mark = f"touch {attack}/escaped"
    for program in ("unshare", "python3", "tritonserver"):
        (attack / program).write_text(f"#!/bin/sh\n{mark}\n")
        (attack / program).chmod(0o755)
    for module in ("sitecustomize", "asyncio", "usercustomize"):
        (attack / f"{module}.py").write_text(f"import os; os.system({mark!r})")
    hostile = {"PATH": str(attack), "PYTHONPATH": str(attack), "PYTHONHOME": str(attack)}
    python = Interpreter(Path(sys.executable), "3.11", tmp_path / "libpython", tmp_path / "stub")
    installation = TritonInstallation(tmp_path, python, python, isolated=isolated)
    triton = start_triton(environment=hostile, installation=installation)
    triton.wait_until_healthy(TIMEOUT_SECONDS)
    _, environment = json.loads(get(triton, "/started-with"))
    assert hostile.items() <= environment.items()
    assert not (attack / "escaped").exists()


@pytest.mark.parametrize("path", ["/break", "/invalid"])
def test_invalid_response_is_a_connection_error(shared: Triton, path: str) -> None:
    with pytest.raises(ConnectionError, match="the container disconnected"):
        get(shared, path)
    assert get(shared, "/connection")


def test_late_response_is_discarded(triton: Triton) -> None:
    with pytest.raises(TimeoutError):
        get(triton, "/slow", timeout=0.05)
    triton.log.with_name("may-respond").touch()
    assert get(triton, "/connection") != b"late"


# Health


def test_error_of_a_failed_start_has_the_end_of_the_log(
    start_triton: StartTriton, instance_folder: Path
) -> None:
    triton = start_triton("--die")
    with pytest.raises(LocalSageMakerError) as refused:
        triton.wait_until_healthy(TIMEOUT_SECONDS)
    assert str(refused.value) == (
        "The container did not pass the ping health check. "
        f"Log: {instance_folder / 'triton.log'}\nstarting\nbackend directory is empty"
    )


def test_health_check_timeout_is_reported(start_triton: StartTriton) -> None:
    triton = start_triton(*["--unhealthy"] * 1000)
    eventually(lambda: "starting" in triton.log.read_text())
    with pytest.raises(
        LocalSageMakerError, match=r"did not pass the ping health check(?s:.*)starting"
    ):
        triton.wait_until_healthy(0.1)


# Stop


def test_stop_ends_server_and_broker(triton: Triton, instance_folder: Path) -> None:
    server, broker = server_pid(instance_folder), triton._process.pid
    assert runs(server)
    assert runs(broker)
    triton.stop()
    assert not runs(server)
    assert not runs(broker)
    with pytest.raises(OSError, match="descriptor"):
        get(triton, "/ping")


def test_stop_can_be_called_concurrently(triton: Triton) -> None:
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda _: triton.stop(), range(4)):
            assert triton._process.poll() is not None
