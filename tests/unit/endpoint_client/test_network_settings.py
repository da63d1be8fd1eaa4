"""Certificates and proxies, which are configured as for boto3."""

import os
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from endpoint_client import EndpointClient, NotSent, _catalog
from tests.unit.endpoint_client.conftest import (
    CLIENT_OPTIONS,
    TEXT_INPUT,
    ClientFactory,
    FakeAws,
    FakeServer,
)

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
NAME = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate; its key is in the same folder."""
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    files = ("-keyout", str(path.with_suffix(".key")), "-out", str(path))
    command = ["openssl", "req", "-x509", *KEY, *NAME, *files]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.fixture
def aws_with_tls(
    certificate: Path, boto3_session: boto3.Session, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FakeAws]:
    """A `FakeAws` with the certificate, which no setting trusts."""
    for name in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("NO_PROXY", "localhost")
    server = FakeServer()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.aws = FakeAws(boto3_session, f"https://localhost:{server.server_port}")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.aws.url)
    with server.running():
        yield server.aws


def new_session() -> boto3.Session:
    """Return a session without cached settings."""
    return boto3.Session("test", "test", region_name="us-east-1")


@pytest.mark.parametrize("setting", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "ca_bundle", None])
@pytest.mark.usefixtures("aws_with_tls")
def test_ca_bundle_is_configured_as_for_boto3(
    certificate: Path, setting: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if setting == "ca_bundle":
        (tmp_path / "config").write_text(f"[default]\nca_bundle = {certificate}\n")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    elif setting:
        monkeypatch.setenv(setting, str(certificate))
    monkeypatch.setattr(_catalog, "LOOK_UP_ATTEMPTS", 1)
    with EndpointClient(**CLIENT_OPTIONS, session=new_session()) as client:
        if setting:
            assert client.invoke("minilm", TEXT_INPUT)["EMBEDDING"].tolist() == [[b"one"]]
        else:
            with pytest.raises(NotSent, match="CERTIFICATE_VERIFY_FAILED"):
                client.invoke("minilm", TEXT_INPUT)


@pytest.fixture
def proxied(aws: Any, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Set AWS's URL to a name that only a proxy can resolve."""
    for name in ("NO_PROXY", "no_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    aws.url = "http://aws.test"
    return monkeypatch


def test_proxy_gets_the_credentials_of_its_url(
    new_client: ClientFactory, aws: Any, server: FakeServer, proxied: pytest.MonkeyPatch
) -> None:
    passwords: list[str] = []
    respond = aws.respond

    def record(path: str, headers: dict[str, str], body: bytes) -> Any:
        passwords.append(headers["proxy-authorization"])
        return respond(path.removeprefix("http://aws.test"), headers, body)

    proxied.setattr(aws, "respond", record)
    proxied.setenv("http_proxy", f"me:secret@127.0.0.1:{server.server_port}")
    new_client().invoke("minilm", TEXT_INPUT)
    assert passwords == 2 * ["Basic bWU6c2VjcmV0"]


def test_no_proxy_is_respected(
    new_client: ClientFactory, aws: Any, server: FakeServer, proxied: pytest.MonkeyPatch
) -> None:
    aws.url = f"http://127.0.0.1:{server.server_port}"
    proxied.setenv("http_proxy", "http://127.0.0.1:1")
    proxied.setenv("no_proxy", "127.0.0.1")
    new_client().invoke("minilm", TEXT_INPUT)
