"""A fake HTTP server for DynamoDB and SageMaker, with synchronous and asyncio clients."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType, SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.config import Config

from endpoint_client import AsyncEndpointClient, CatalogEntry, EndpointClient, Tensor
from endpoint_client._retries import Deadline

BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="
PREFIX = "text#"
TABLE = "triton-catalog-prod"
CLIENT_OPTIONS: Any = {"stage": "prod", "endpoint": "text"}
TEXT_INPUT = {"TEXT": ["one"]}


def entry_text(model: str = "minilm", *, max_batch_size: int = 8, **changes: Any) -> str:
    """Return the text of a catalog entry."""
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


def catalog_entry(*inputs: Tensor, outputs: tuple[Tensor, ...] = ()) -> CatalogEntry:
    """Return the entry of a model with these inputs."""
    return CatalogEntry(
        model="minilm",
        version="0123456789ab",
        endpoint="prod-text",
        target_model="minilm-0123456789ab.tar.gz",
        inputs=inputs,
        outputs=outputs,
        max_batch_size=8,
    )


class Response:
    """An HTTP response in chunks; `before_chunk` is called with the index before each chunk."""

    def __init__(
        self,
        status: int = 200,
        *chunks: bytes,
        headers: Mapping[str, str] = MappingProxyType({}),
        truncated: bool = False,
        before_chunk: Callable[[int], object] = lambda _: None,
    ) -> None:
        self.status, self.chunks, self.headers = status, chunks, headers
        self.truncated, self.before_chunk = truncated, before_chunk

    @classmethod
    def error(cls, code: str, message: str = "", status: int = 400, **fields: Any) -> "Response":
        """Return an error in the form of AWS's JSON protocols."""
        body = json.dumps({"Message": message, "message": message, "__type": code, **fields})
        headers = {"x-amzn-ErrorType": code, "x-amzn-RequestId": "request-1"}
        return cls(status, body.encode(), headers=headers)


def throttling_error() -> Response:
    return Response.error("ThrottlingException", "Rate exceeded")


class Blocker:
    """A callback that blocks until `released` is set, and sets `reached` when it is called."""

    def __init__(self) -> None:
        self.reached, self.released = threading.Event(), threading.Event()

    def __call__(self, *_: object) -> bool:
        self.reached.set()
        return self.released.wait()


def echo(body: bytes, content_type: str) -> Response:
    """Return Triton's response of a model whose outputs are equal to its inputs."""
    is_binary = content_type.startswith(BINARY)
    size = int(content_type.removeprefix(BINARY)) if is_binary else len(body)
    content = json.loads(body[:size])
    keys = ("datatype", "shape", "parameters" if is_binary else "data")
    outputs = [
        {"name": output["name"], **{key: tensor[key] for key in keys}}
        for tensor, output in zip(content["inputs"], content["outputs"], strict=False)
    ]
    assert all(output["parameters"] == {"binary_data": is_binary} for output in content["outputs"])
    header = json.dumps({"outputs": outputs}).encode()
    response_type = f"{BINARY}{len(header)}" if is_binary else content_type
    return Response(200, header + body[size:], headers={"Content-Type": response_type})


class FakeAws:
    """A boto3 session for a fake of DynamoDB, with one item per page, and SageMaker.

    `entries` are the texts of entries by key; None is the item of a removed model. Listings of
    every endpoint have the keys in `in_every_index`: grants do not limit the index's attribute.
    `catalog_responses` and `responses` are queues, used before `entries` and `invoke`.
    `look_ups`, `listings` and `requests` record requests. `before_look_up` and `before_invoke` are
    called before a response.
    """

    def __init__(self, session: boto3.Session, url: str) -> None:
        self.entries: dict[str, str | None] = {f"{PREFIX}minilm": entry_text()}
        self.in_every_index: set[str] = set()
        self.catalog_responses: list[Response] = []
        self.responses: list[Response] = []
        self.look_ups: list[str] = []
        self.listings: list[dict[str, Any]] = []
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.connections = 0
        self.before_look_up: Callable[[str], object] = lambda _: None
        self.before_invoke: Callable[[], object] = lambda: None
        self.invoke: Callable[[bytes, str], Response] = echo
        self.region_name: str | None = "us-east-1"
        self.boto3_session, self.url = session, url
        self._session = session._session  # botocore's session: the client reads settings from it

    def client(self, name: Any, config: Config) -> Any:
        return self.boto3_session.client(name, endpoint_url=self.url, config=config)

    def respond(self, path: str, headers: dict[str, str], body: bytes) -> Response:
        assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=test/")
        if path != "/":
            self.requests.append((path, headers, body))
            self.before_invoke()
            if self.responses:
                return self.responses.pop(0)
            return self.invoke(body, headers["content-type"])
        content = json.loads(body)
        assert content["TableName"] == TABLE
        if headers["x-amz-target"] == "DynamoDB_20120810.Query":
            self.listings.append(content)
            return self.catalog_responses.pop(0) if self.catalog_responses else self._page(content)
        assert headers["x-amz-target"] == "DynamoDB_20120810.GetItem"
        assert content["Key"]["revision"] == {"N": "0"}
        name = content["Key"]["model_key"]["S"]
        self.look_ups.append(name)
        self.before_look_up(name)
        if self.catalog_responses:
            return self.catalog_responses.pop(0)
        text = self.entries.get(name)
        item = {"Item": {"entry": {"S": text}} if text is not None else {}}
        return Response(200, json.dumps(item if name in self.entries else {}).encode())

    def _page(self, content: dict[str, Any]) -> Response:
        assert content["IndexName"] == "by-endpoint"
        endpoint = content["ExpressionAttributeValues"][":endpoint"]["S"]
        items = [
            {"model_key": {"S": name}, "entry": {"S": text}}
            for name, text in self.entries.items()
            if (name.startswith(f"{endpoint}#") or name in self.in_every_index) and text is not None
        ]
        number = int(content.get("ExclusiveStartKey", {}).get("number", {}).get("N", "0"))
        end = number + content.get("Limit", 1)
        page: dict[str, Any] = {"Items": items[number:end]}
        if end < len(items):
            page["LastEvaluatedKey"] = {"number": {"N": str(end)}}
        return Response(200, json.dumps(page).encode())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "FakeServer"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        response = self.server.aws.respond(self.path, headers, body)
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, chunk in enumerate(response.chunks):
            response.before_chunk(number)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        if response.truncated:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: Any) -> None:
        pass


class FakeServer(ThreadingHTTPServer):
    """The HTTP server of a `FakeAws`; `disconnected` is set when a connection is closed."""

    aws: FakeAws
    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.disconnected = threading.Event()

    def handle_error(self, *_: Any) -> None:
        """Print no traceback when a client disconnects."""

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.disconnected.set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.aws.connections += 1
        super().process_request(request, client_address)

    @contextmanager
    def running(self) -> Iterator["FakeServer"]:
        """Serve during the `with` block."""
        thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        thread.start()
        yield self
        self.shutdown()
        thread.join()
        self.server_close()


@pytest.fixture(scope="session")
def server() -> Iterator[FakeServer]:
    """The server of all tests."""
    with FakeServer().running() as server:
        yield server


@pytest.fixture(scope="session")
def boto3_session() -> boto3.Session:
    """A session for all tests, because reading the services' models is slow."""
    return boto3.Session(
        aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1"
    )


@pytest.fixture
def aws(server: FakeServer, boto3_session: boto3.Session) -> Any:
    """A `FakeAws` whose catalog has `minilm`."""
    server.aws = FakeAws(boto3_session, f"http://127.0.0.1:{server.server_port}")
    return server.aws


class BlockingAsyncClient:
    """An `AsyncEndpointClient` with the synchronous interface of `EndpointClient`."""

    def __init__(self, runner: asyncio.Runner, **options: Any) -> None:
        self.sync_client = EndpointClient(**options)
        self._runner, self._client = runner, AsyncEndpointClient(self.sync_client)

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


ClientFactory = Callable[..., EndpointClient]


@pytest.fixture(params=["sync", "asyncio"])
def new_client(request: pytest.FixtureRequest, aws: Any) -> Iterator[ClientFactory]:
    """A function that makes clients of one kind."""
    clients: list[Any] = []
    with asyncio.Runner() as runner:

        def new_client(**options: Any) -> Any:
            options = {**CLIENT_OPTIONS, "session": aws, **options}
            is_sync = request.param == "sync"
            client: Any = (
                EndpointClient(**options) if is_sync else BlockingAsyncClient(runner, **options)
            )
            clients.append(client)
            return client

        yield new_client
        for client in clients:
            client.close()


@pytest.fixture
def client(new_client: ClientFactory) -> EndpointClient:
    """A client of each kind."""
    return new_client()


@pytest.fixture
def sync_client(aws: Any) -> Iterator[EndpointClient]:
    with EndpointClient(**CLIENT_OPTIONS, session=aws) as client:
        yield client


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The lengths of the pauses between attempts, which take no time."""
    lengths: list[float] = []
    monkeypatch.setattr(Deadline, "pause", lambda _, seconds: lengths.append(seconds))
    return lengths


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A function that advances the clients' clock by seconds."""
    now = [1000.0]
    fake = SimpleNamespace(monotonic=lambda: now[0])

    def advance(seconds: float) -> None:
        now[0] += seconds

    for module in ("_catalog", "_retries", "_client"):
        monkeypatch.setattr(f"endpoint_client.{module}.time", fake)
    return advance
