"""A server that answers as SSM and SageMaker do, and the clients for threads and asyncio on it."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType, SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.config import Config

from endpoint_client import AsyncEndpointClient, CatalogEntry, EndpointClient, Tensor
from endpoint_client._retries import Deadline

BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="
PREFIX = "/triton/prod/text"


def parameter(model: str = "minilm", *, max_batch_size: int = 8, **changes: Any) -> str:
    """Return the value of a catalog parameter."""
    entry = {
        "model": model,
        "version": "0123456789ab",
        "endpoint": "prod-text",
        "target_model": f"{model}-0123456789ab.tar.gz",
        "signature": {
            "inputs": [{"name": "TEXT", "datatype": "BYTES", "shape": [-1, 1]}],
            "outputs": [{"name": "EMBEDDING", "datatype": "FP32", "shape": [-1, 384]}],
            "max_batch_size": max_batch_size,
        },
    }
    return json.dumps({**entry, **changes})


def entry_of(*inputs: Tensor, outputs: tuple[Tensor, ...] = ()) -> CatalogEntry:
    """Return a model's entry with these inputs."""
    return CatalogEntry(
        model="minilm",
        version="0123456789ab",
        endpoint="prod-text",
        target_model="minilm-0123456789ab.tar.gz",
        inputs=inputs,
        outputs=outputs,
        max_batch_size=8,
    )


class Answer:
    """An HTTP answer; `parts` are sent one after the other, each when `before_part` returns."""

    def __init__(
        self,
        status: int = 200,
        *parts: bytes,
        headers: Mapping[str, str] = MappingProxyType({}),
        breaks_off: bool = False,
        before_part: Callable[[int], object] = lambda _: None,
    ) -> None:
        self.status, self.parts, self.headers = status, parts, headers
        self.breaks_off, self.before_part = breaks_off, before_part

    @classmethod
    def error(cls, code: str, message: str = "", status: int = 400, **fields: Any) -> "Answer":
        """Return an error as AWS's JSON protocols have it."""
        body = json.dumps({"Message": message, "message": message, "__type": code, **fields})
        headers = {"x-amzn-ErrorType": code, "x-amzn-RequestId": "request-1"}
        return cls(status, body.encode(), headers=headers)


def echo(body: bytes, content_type: str) -> Answer:
    """Answer each input as the output of the same place, as Triton writes it."""
    if content_type == "application/json":
        content = json.loads(body)
        outputs = [
            {"name": output["name"], **{key: tensor[key] for key in ("datatype", "shape", "data")}}
            for tensor, output in zip(content["inputs"], content["outputs"], strict=False)
        ]
        assert all(output["parameters"] == {"binary_data": False} for output in content["outputs"])
        answer = json.dumps({"outputs": outputs}).encode()
        return Answer(200, answer, headers={"Content-Type": content_type})
    size = int(content_type.removeprefix(BINARY))
    content, tensors = json.loads(body[:size]), body[size:]
    outputs = [
        {
            "name": output["name"],
            **{key: tensor[key] for key in ("datatype", "shape", "parameters")},
        }
        for tensor, output in zip(content["inputs"], content["outputs"], strict=False)
    ]
    assert all(output["parameters"] == {"binary_data": True} for output in content["outputs"])
    assert len(tensors) == sum(
        tensor["parameters"]["binary_data_size"] for tensor in content["inputs"]
    )
    header = json.dumps({"model_name": "minilm", "outputs": outputs}).encode()
    return Answer(200, header + tensors, headers={"Content-Type": f"{BINARY}{len(header)}"})


class Aws:
    """SSM's parameters in pages of one, and an endpoint that echoes.

    `catalog_answers` and `answers` are given first, one a request; `look_ups` and `requests` are
    what was sent, over so many `connections`. `before_look_up` runs before each look-up of a name.
    """

    def __init__(self, session: boto3.Session, url: str) -> None:
        self.parameters = {f"{PREFIX}/minilm": parameter()}
        self.catalog_answers: list[Answer] = []
        self.answers: list[Answer] = []
        self.look_ups: list[str] = []
        self.listings: list[dict[str, Any]] = []
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.connections = 0
        self.before_look_up: Callable[[str], object] = lambda _: None
        self.invoke: Callable[[bytes, str], Answer] = echo
        self.region_name: str | None = "us-east-1"
        self.boto3_session, self.url = session, url
        self._session = session._session  # botocore's, which the client reads settings of

    def client(self, name: Any, config: Config) -> Any:
        """Return a client of this server, as `boto3.Session` does."""
        return self.boto3_session.client(name, endpoint_url=self.url, config=config)

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """Answer a request."""
        assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=test/")
        if path != "/":
            self.requests.append((path, headers, body))
            return (
                self.answers.pop(0) if self.answers else self.invoke(body, headers["content-type"])
            )
        content = json.loads(body)
        if headers["x-amz-target"] == "AmazonSSM.GetParametersByPath":
            self.listings.append(content)
            return self.catalog_answers.pop(0) if self.catalog_answers else self._page(content)
        name = content["Name"]
        self.look_ups.append(name)
        self.before_look_up(name)
        if self.catalog_answers:
            return self.catalog_answers.pop(0)
        if name not in self.parameters:
            return Answer.error("ParameterNotFound")
        value = {"Name": name, "Value": self.parameters[name]}
        return Answer(200, json.dumps({"Parameter": value}).encode())

    def _page(self, content: dict[str, Any]) -> Answer:
        names = [
            parameter
            for parameter in self.parameters
            if parameter.rpartition("/")[0] == content["Path"]
        ]
        number = int(content.get("NextToken", 0))
        page: dict[str, Any] = {
            "Parameters": [{"Name": name} for name in names[number : number + 1]]
        }
        if number + 1 < len(names):
            page["NextToken"] = str(number + 1)
        return Answer(200, json.dumps(page).encode())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "_Server"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.aws.answer(self.path, headers, body)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, part in enumerate(answer.parts):
            answer.before_part(number)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        if answer.breaks_off:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    aws: Aws
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: Any) -> None:
        """Say nothing of clients that hang up."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.hung_up = threading.Event()
        """Set when a client has closed a connection."""

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.hung_up.set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.aws.connections += 1
        super().process_request(request, client_address)


@pytest.fixture(scope="session")
def server() -> Iterator[_Server]:
    """A server on loopback, for all tests."""
    made = _Server(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=made.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture(scope="session")
def boto3_session() -> boto3.Session:
    """A session that has read the models of both services once."""
    return boto3.Session(
        aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1"
    )


@pytest.fixture
def aws(server: _Server, boto3_session: boto3.Session) -> Any:
    """A session whose catalog has `minilm` in `/triton/prod/text`, as `Aws` and `boto3.Session`."""
    server.aws = Aws(boto3_session, f"http://127.0.0.1:{server.server_port}")
    return server.aws


class Blocking:
    """An `AsyncEndpointClient` whose calls are awaited on a loop of its own."""

    def __init__(self, runner: asyncio.Runner, **options: Any) -> None:
        self.threads = EndpointClient(**options)
        self._runner, self._client = runner, AsyncEndpointClient(self.threads)

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            return self._runner.run(getattr(self._client, name)(*arguments, **options))

        return call

    def stream(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        events = self._client.stream(*arguments, **options)
        try:
            while True:
                try:
                    yield self._runner.run(anext(events))
                except StopAsyncIteration:
                    return
        finally:
            self._runner.run(events.aclose())


New = Callable[..., EndpointClient]


@pytest.fixture(params=["threads", "asyncio"])
def new_client(request: pytest.FixtureRequest, aws: Any) -> Iterator[New]:
    """Make clients of one of both kinds, which are closed in the end."""
    clients: list[Any] = []
    with asyncio.Runner() as runner:

        def new(**options: Any) -> Any:
            options = {"stage": "prod", "endpoint": "text", "session": aws, **options}
            made: Any = (
                EndpointClient(**options)
                if request.param == "threads"
                else Blocking(runner, **options)
            )
            clients.append(made)
            return made

        yield new
        for made in clients:
            made.close()


@pytest.fixture
def client(new_client: New) -> EndpointClient:
    """A client of one of both kinds."""
    return new_client()


@pytest.fixture(autouse=True)
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that were slept between attempts, without sleeping."""
    slept: list[float] = []
    monkeypatch.setattr(Deadline, "pause", lambda _, seconds: slept.append(seconds))
    return slept


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let seconds pass for what the clients measure."""
    now = [1000.0]
    fake = SimpleNamespace(monotonic=lambda: now[0])

    def forward(seconds: float) -> None:
        now[0] += seconds

    for module in ("_catalog", "_retries", "_client"):
        monkeypatch.setattr(f"endpoint_client.{module}.time", fake)
    return forward
