import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.hosting.triton import Triton
from local_sagemaker.tests.hosting.conftest import MakeTriton, pid_in, stand_ins
from local_sagemaker.tests.support.waiting import PATIENCE, eventually, runs


@pytest.fixture
def triton(start: MakeTriton) -> Triton:
    """A stand-in that is healthy."""
    made = start()
    made.wait_until_healthy(PATIENCE)
    return made


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Triton]:
    instance = tmp_path_factory.mktemp("instance")
    with stand_ins(tmp_path_factory.mktemp("shared"), instance) as make:
        made = make()
        made.wait_until_healthy(PATIENCE)
        yield made


@pytest.fixture
def shared(running: Triton) -> Triton:
    """One that several tests ask."""
    return running


def get(triton: Triton, path: str, *, timeout: float = PATIENCE) -> bytes:
    return triton.request("GET", path, timeout=timeout).body


def test_a_request_and_its_answer_go_through_the_socket(shared: Triton) -> None:
    headers = {"Status": "409"}
    body = bytes(range(256)) * 4096  # more than a socket's buffer
    response = shared.request("POST", "/models", body=body, headers=headers, timeout=PATIENCE)
    assert (response.status, response.body) == (409, body)
    assert response.headers["Content-Type"] == "text/plain"


def test_the_server_gets_its_arguments_and_the_containers_environment(
    start: MakeTriton, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    triton = start("--log-verbose=true", environment={"OMP_NUM_THREADS": "1"})
    triton.wait_until_healthy(PATIENCE)
    arguments, environment = json.loads(get(triton, "/started-with"))
    assert arguments[0] == f"--backend-directory={tmp_path / 'backends'}"
    assert arguments[-1] == "--log-verbose=true"
    assert environment["OMP_NUM_THREADS"] == "1"
    assert environment["LD_LIBRARY_PATH"] == str(tmp_path / "libpython")
    python = tmp_path / "backends" / "python" / "environment" / "bin"
    assert environment["PATH"].split(os.pathsep)[0] == str(python)
    assert "AWS_SECRET_ACCESS_KEY" not in environment


def test_the_log_begins_with_what_was_said_before_the_start(start: MakeTriton) -> None:
    triton = start(notes=("WARNING: one model", "         it is taken"))
    triton.wait_until_healthy(PATIENCE)
    assert triton.log.read_text() == "WARNING: one model\n         it is taken\nstarting\n"


def test_a_ping_passes_with_the_status_200_alone(start: MakeTriton) -> None:
    triton = start("--unhealthy")  # it answers its first ping with 503
    while (problem := triton.failed_ping(PATIENCE)) and "not answered" in problem:
        pass  # it starts
    assert problem == "GET /ping is answered with 503"
    assert triton.failed_ping(PATIENCE) is None


def test_a_server_may_say_at_another_path_that_it_is_healthy(start: MakeTriton) -> None:
    start("--unhealthy", ping="/connection").wait_until_healthy(PATIENCE)


def test_two_servers_do_not_disturb_each_other(start: MakeTriton, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    servers = [start(f"--name={folder.name}", folder=folder) for folder in folders]
    for server in servers:
        server.wait_until_healthy(PATIENCE)
    arguments = [json.loads(get(server, "/started-with"))[0] for server in servers]
    assert [argument[-1] for argument in arguments] == ["--name=a", "--name=b"]


@pytest.mark.parametrize("path", ["/break", "/nonsense"])
def test_a_broken_answer_is_an_oserror_and_the_next_request_is_answered(
    shared: Triton, path: str
) -> None:
    with pytest.raises(ConnectionError, match="the container closed the connection"):
        get(shared, path)
    assert get(shared, "/connection")


def test_a_slow_answer_is_an_oserror_and_is_not_taken_for_the_next(triton: Triton) -> None:
    with pytest.raises(TimeoutError):
        get(triton, "/slow", timeout=0.05)
    triton.log.with_name("enough").touch()
    assert get(triton, "/connection") != b"late"


def test_threads_that_connect_at_the_same_time_have_connections_of_their_own(
    shared: Triton,
) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: get(shared, "/connection"), range(32)))) == 32


# Health


def test_it_is_healthy_once_ping_answers_200(start: MakeTriton, instance: Path) -> None:
    triton = start("--unhealthy", "--unhealthy")
    triton.wait_until_healthy(PATIENCE)
    assert runs(pid_in(instance))


def test_a_server_that_dies_at_once_is_reported_with_the_end_of_its_log(
    start: MakeTriton, instance: Path
) -> None:
    triton = start("--die")
    with pytest.raises(LocalSageMakerError) as refused:
        triton.wait_until_healthy(PATIENCE)
    assert str(refused.value) == (
        "The container did not pass the ping health check. "
        f"Log: {instance / 'triton.log'}\nstarting\nbackend directory is empty"
    )


def test_a_server_that_does_not_become_healthy_in_time_is_reported(start: MakeTriton) -> None:
    triton = start(*["--unhealthy"] * 1000)
    eventually(lambda: "starting" in triton.log.read_text())
    with pytest.raises(
        LocalSageMakerError, match=r"did not pass the ping health check(?s:.*)starting"
    ):
        triton.wait_until_healthy(0.1)


# Stop


def test_a_stopped_server_leaves_nothing_and_answers_no_more(
    triton: Triton, instance: Path
) -> None:
    server, broker = pid_in(instance), triton._process.pid
    assert runs(server)
    assert runs(broker)
    triton.stop()
    assert not runs(server)
    assert not runs(broker)
    with pytest.raises(OSError, match="descriptor"):
        get(triton, "/ping")


def test_a_server_may_be_stopped_again_and_by_several_threads_at_once(triton: Triton) -> None:
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda _: triton.stop(), range(4)):
            assert triton._process.poll() is not None


def test_a_server_that_has_died_is_stopped_all_the_same(triton: Triton, instance: Path) -> None:
    os.kill(pid_in(instance), 9)
    assert triton.wait(PATIENCE)
    with pytest.raises(OSError, match=r"refused|closed the connection|[Bb]roken|reset|ended"):
        get(triton, "/ping")
    triton.stop()


def test_whether_a_server_has_ended_is_known_after_a_while(triton: Triton, instance: Path) -> None:
    assert not triton.wait(0)
    os.kill(pid_in(instance), 9)
    assert triton.wait(PATIENCE)
    assert "is not answered" in str(triton.failed_ping(PATIENCE))


def test_the_log_has_what_the_server_printed(shared: Triton) -> None:
    assert shared.log.name == "triton.log"
    assert shared.log.read_text().startswith("starting\n")
