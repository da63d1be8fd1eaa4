"""Certificates and proxies are those that boto3 reads, from where it reads them."""

import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import SSLError

from endpoint_client import EndpointClient, EndpointError, NotSent
from tests.unit.endpoint_client.conftest import Aws, New, _Handler, _Server

HELLO = {"TEXT": ["hello"]}
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
NAME = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate that no public authority has signed, with its key beside it."""
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    files = ("-keyout", str(path.with_suffix(".key")), "-out", str(path))
    command = ["openssl", "req", "-x509", *KEY, *NAME, *files]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.fixture
def over_tls(
    certificate: Path, boto3_session: boto3.Session, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Aws]:
    """AWS behind that certificate, without any setting about it."""
    for name in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("NO_PROXY", "localhost")
    server = _Server(("127.0.0.1", 0), _Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.aws = Aws(boto3_session, f"https://localhost:{server.server_port}")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.aws.url)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.aws
    server.shutdown()
    thread.join()
    server.server_close()


def new_session() -> boto3.Session:
    """Return a session that has read nothing yet."""
    return boto3.Session("test", "test", region_name="us-east-1")


def answers_boto3() -> bool:
    ssm: Any = new_session().client("ssm")
    try:
        ssm.get_parameter(Name="/triton/prod/text/minilm")
    except SSLError:
        return False
    return True


@pytest.mark.parametrize("setting", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "ca_bundle", None])
def test_a_ca_bundle_is_read_from_where_boto3_reads_it(
    over_tls: Aws,
    certificate: Path,
    setting: str | None,
    sleeps: list[float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if setting == "ca_bundle":
        (tmp_path / "config").write_text(f"[default]\nca_bundle = {certificate}\n")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    elif setting:
        monkeypatch.setenv(setting, str(certificate))
    assert answers_boto3() == bool(setting)
    with EndpointClient(stage="prod", endpoint="text", session=new_session()) as client:
        if setting:
            assert client.invoke("minilm", HELLO)["EMBEDDING"].tolist() == [[b"hello"]]
        else:
            with pytest.raises(NotSent, match="CERTIFICATE_VERIFY_FAILED"):
                client.invoke("minilm", HELLO)


def test_a_certificate_that_is_refused_means_that_the_model_was_not_asked(
    over_tls: Aws, boto3_session: boto3.Session, aws: Any, sleeps: list[float]
) -> None:
    url = aws.url

    class Session(Aws):
        def client(self, name: Any, config: Any) -> Any:
            self.url = url if name == "ssm" else over_tls.url
            return super().client(name, config)

    session: Any = Session(boto3_session, url)
    with (
        EndpointClient(stage="prod", endpoint="text", session=session) as client,
        pytest.raises(NotSent, match=r"^minilm 0123456789ab: .*CERTIFICATE_VERIFY_FAILED"),
    ):
        client.invoke("minilm", HELLO)


def test_a_ca_bundle_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "none.pem"))
    with pytest.raises(EndpointError, match=r"cannot read the CA bundle .*none\.pem: \[Errno 2\]"):
        EndpointClient(stage="prod", endpoint="text", session=new_session())


@pytest.fixture
def proxied(aws: Any, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """AWS at a name that only a proxy knows."""
    for name in ("NO_PROXY", "no_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    aws.url = "http://aws.test"
    return monkeypatch


def test_a_proxy_gets_the_name_and_password_of_its_url(
    new_client: New, aws: Any, server: _Server, proxied: pytest.MonkeyPatch
) -> None:
    passwords: list[str] = []
    answer = aws.answer

    def note(path: str, headers: dict[str, str], body: bytes) -> Any:
        passwords.append(headers["proxy-authorization"])
        return answer(path.removeprefix("http://aws.test"), headers, body)

    proxied.setattr(aws, "answer", note)
    proxied.setenv("http_proxy", f"me:secret@127.0.0.1:{server.server_port}")
    new_client().invoke("minilm", HELLO)
    assert passwords == 2 * ["Basic bWU6c2VjcmV0"]


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "http://127.0.0.1:1"])
def test_a_proxy_that_cannot_be_used_means_that_nothing_was_sent(
    new_client: New, sleeps: list[float], proxied: pytest.MonkeyPatch, proxy: str
) -> None:
    proxied.setenv("http_proxy", proxy)
    with pytest.raises(NotSent, match="cannot look 'minilm' up"):
        new_client().invoke("minilm", HELLO)


def test_a_host_without_a_proxy_is_reached_directly(
    new_client: New, aws: Any, server: _Server, proxied: pytest.MonkeyPatch
) -> None:
    aws.url = f"http://127.0.0.1:{server.server_port}"
    proxied.setenv("http_proxy", "http://127.0.0.1:1")
    proxied.setenv("no_proxy", "127.0.0.1")
    new_client().invoke("minilm", HELLO)
