"""Attacks of web pages on the ports of the local SageMaker and of ministack.

Each attack is also request_bytes without browser headers, to show that it would do harm.
"""

import socket
from contextlib import suppress
from pathlib import Path

import pytest

from local_sagemaker.tests.real.test_faults_clients import all_processes, listening_addresses
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.waiting import eventually
from local_sagemaker.tests.support.web_attacks import BUCKET, KEY, SECRET, attacks, prepare, state

BROWSERS = {
    "of another site": {"Origin": "http://evil.example", "Sec_Fetch_Site": "cross-site"},
    "of another port of this machine": {
        "Origin": "http://localhost:3000",
        "Sec_Fetch_Site": "same-site",
    },
    "of a sandboxed frame": {"Origin": "null", "Sec_Fetch_Site": "cross-site"},
    "that shows an image": {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"},
    "of a browser without Fetch Metadata": {"Origin": "https://evil.example"},
    "whose name leads here": {"Host": "evil.example:4566"},
    "whose name leads here and looks like a bucket's": {"Host": "models.s3.evil.example"},
}


@pytest.fixture(scope="module")
def victim(local_sagemaker: LocalSageMaker) -> LocalSageMaker:
    prepare()
    return local_sagemaker


@pytest.fixture(scope="module", params=["front", "ministack"])
def port(request: pytest.FixtureRequest, victim: LocalSageMaker) -> int:
    front = victim.running.port
    if request.param == "front":
        return front
    addresses = {address for pid in all_processes(victim) for address in listening_addresses(pid)}
    (ministack_port,) = {int(address.partition(":")[2], 16) for address in addresses} - {front}
    return ministack_port


def send(port: int, request_bytes: bytes) -> tuple[int, str]:
    """Return the status of a response and the whole response."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request_bytes)
        answer = b""
        with suppress(ConnectionResetError):
            while chunk := connection.recv(1 << 16):
                answer += chunk
    return int(answer.split(b" ")[1]), answer.decode(errors="replace")


@pytest.mark.parametrize("page", BROWSERS)
def test_web_pages_cannot_read_or_change_anything(port: int, page: str, tmp_path: Path) -> None:
    before = state()
    for name, attack in attacks(tmp_path / "written").items():
        request_bytes = attack.to_bytes(**{"host": f"127.0.0.1:{port}", **BROWSERS[page]})
        status, answer = send(port, request_bytes)
        assert status == 403, name
        assert SECRET not in answer, name
        assert "access-control" not in answer.lower(), name
    assert state() == before
    assert not (tmp_path / "written").exists()


@pytest.mark.parametrize("path", ["/", f"/{BUCKET}/{KEY}", "/endpoints/any/invocations", "*"])
def test_cors_preflight_is_refused(port: int, path: str) -> None:
    request_bytes = (
        f"OPTIONS {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
        "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-amz-target\r\n"
    )
    for origin in ("", "Origin: http://evil.example\r\n"):
        status, answer = send(port, f"{request_bytes}{origin}\r\n".encode())
        assert (status, "access-control" in answer.lower()) == (403, False)


@pytest.mark.parametrize(
    "request_line",
    [
        "POST /_ministack/reset", "POST /_ministack/reset?init=1", "POST /%5fministack/reset",
        "POST /_ministack/config", "GET /_ministack/ready", "GET /_ministack/ses/messages",
        "GET /_ministack/sqs/messages", "GET /_ministack", "GET /_localstack/health",
        "POST /_aws/execute-api/a/b/c", "POST /_ministack/health", "PUT /_ministack/reset",
    ],
)  # fmt: skip
def test_internal_routes_are_closed(port: int, request_line: str) -> None:
    before = state()
    request_bytes = f"{request_line} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    assert send(port, request_bytes.encode())[0] == 403
    assert state() == before


@pytest.mark.parametrize(
    "host", ["localhost:{}", "127.0.0.1:{}", "[::1]", f"{BUCKET}.s3.localhost"]
)
def test_local_programs_can_read(victim: LocalSageMaker, host: str) -> None:
    port = victim.running.port
    path = f"/{KEY}" if host.startswith(BUCKET) else f"/{BUCKET}/{KEY}"
    request_bytes = f"GET {path} HTTP/1.1\r\nHost: {host.format(port)}\r\nConnection: close\r\n\r\n"
    status, answer = send(port, request_bytes.encode())
    assert (status, SECRET in answer) == (200, True)
    assert "access-control" not in answer.lower()


def test_attacks_succeed_without_browser_headers(victim: LocalSageMaker, tmp_path: Path) -> None:
    port, written = victim.running.port, tmp_path / "written"
    answers = {
        name: send(port, attack.to_bytes(f"127.0.0.1:{port}"))
        for name, attack in attacks(written).items()
    }
    closed = {
        "reset everything",
        "change the emulator's settings",
        "create a role by a GET query string",
    }
    assert {name for name, (status, _) in answers.items() if status == 403} == closed
    secrets = {name for name, (_, answer) in answers.items() if SECRET in answer}
    assert secrets == {"read an object", "read a parameter", "read stacks"}
    after = state()
    assert {"planted.txt"} == set(after["objects"])
    assert "planted" in after["roles"]
    assert after["projects"] == ["planted", "victim"]
    eventually(written.exists)
