"""Callers of a client that check each answer, and an SSM that can be made to fail."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from endpoint_client import AsyncEndpointClient, EndpointClient, EndpointError

FIRST = 1000
"""The first caller's number: no two of a thousand are as 2 to 3, so that no answer fits another."""
THROTTLED, UNAVAILABLE = "throttled", "unavailable"


class Calls:
    """The answers and failures of callers that go on until the block ends."""

    def __init__(self, models: list[str]) -> None:
        self.answers = Counter[tuple[str, float]]()
        self.failures: list[EndpointError] = []
        self.over = False
        self.ended: list[Future[None]] = []
        self._models, self._changed = models, threading.Condition()

    def model(self, turn: int) -> str:
        """Return the model of a call."""
        return self._models[turn % len(self._models)]

    def answered(self, model: str, factor: float) -> None:
        """Count an answer by what the model multiplied by."""
        with self._changed:
            self.answers[model, factor] += 1
            self._changed.notify_all()

    def failed(self, error: EndpointError) -> None:
        """Keep a failure."""
        with self._changed:
            self.failures.append(error)
            self._changed.notify_all()

    def end(self, caller: Future[None]) -> None:
        """Note that a caller has ended."""
        with self._changed:
            self.ended.append(caller)
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[], object]) -> None:
        """Return when a condition holds after a call. Raises what a caller has ended with."""
        with self._changed:
            self._changed.wait_for(lambda: self.ended or condition())
        for caller in self.ended:
            caller.result()

    def wait_for_more(self, count: int, factor: float | None = None) -> None:
        """Return after so many more answers, of one factor or any."""

        def number() -> int:
            counts = self.answers.items()
            return sum(many for (_, other), many in counts if factor in (None, other))

        with self._changed:
            end = number() + count
        self.wait_for(lambda: number() >= end)


@contextmanager
def calling(
    client: EndpointClient, *models: str, threads: int = 0, coroutines: int = 0
) -> Iterator[Calls]:
    """Invoke models that multiply by so many threads and coroutines for the length of the block."""
    calls = Calls([*models])

    def call(number: int) -> None:
        turn = number
        while not calls.over:
            turn += 1
            try:
                outputs = client.invoke(calls.model(turn), {"X": [[FIRST + number]]})
                calls.answered(calls.model(turn), float(outputs["Y"][0, 0]) / (FIRST + number))
            except EndpointError as error:
                calls.failed(error)

    async def call_in_loop() -> None:
        async with AsyncEndpointClient(client) as asynchronous:

            async def call(number: int) -> None:
                turn = number
                while not calls.over:
                    turn += 1
                    try:
                        inputs = {"X": [[FIRST + number]]}
                        outputs = await asynchronous.invoke(calls.model(turn), inputs)
                        factor = float(outputs["Y"][0, 0]) / (FIRST + number)
                        calls.answered(calls.model(turn), factor)
                    except EndpointError as error:
                        calls.failed(error)

            await asyncio.gather(*(call(number) for number in range(coroutines)))
            assert asyncio.all_tasks() == {asyncio.current_task()}

    with ThreadPoolExecutor(threads + 1) as pool:
        futures: list[Future[None]] = [pool.submit(call, number) for number in range(threads)]
        if coroutines:
            futures.append(pool.submit(asyncio.run, call_in_loop()))
        for future in futures:
            future.add_done_callback(calls.end)
        try:
            yield calls
        finally:
            calls.over = True
        for future in futures:
            future.result()


class Ssm(ThreadingHTTPServer):
    """Passes calls on to an SSM, or refuses them in its `state`, and counts what it refuses."""

    daemon_threads = False  # server_close waits for them

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind = urlsplit(url).netloc
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.state = ""
        self.refused = Counter[str]()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60.0  # of a connection that a client leaves open
    server: Ssm

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        state = self.server.state
        if state:
            self.server.refused[state] += 1
        if state == UNAVAILABLE:
            self.close_connection = True
            return
        status, answer = 400, b'{"__type": "ThrottlingException", "message": "Rate exceeded"}'
        if not state:
            connection = HTTPConnection(self.server.behind)
            connection.request("POST", self.path, body, dict(self.headers))
            response = connection.getresponse()
            status, answer = response.status, response.read()
            connection.close()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def ssm_before(url: str) -> Iterator[Ssm]:
    """Serve for the length of the block."""
    with Ssm(url) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
