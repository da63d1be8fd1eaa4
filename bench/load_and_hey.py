"""Compare the load generator with hey against one HTTP server: `python -m bench.load_and_hey`.

The server answers InvokeEndpoint after a fixed time, and checks no signature, as hey signs none.
Exit code 1 where a rate differs by more than a tenth; nothing is measured without hey.
"""

import asyncio
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat
from multiprocessing.connection import Connection

import boto3
import numpy as np

from cli.load.mix import ModelTarget
from cli.load.request_inputs import Request
from cli.load.step import closed_loop
from endpoint_client import AsyncEndpointClient, EndpointClient

SECONDS, SERVICE_SECONDS, MOST = 10, 0.05, 0.1
CALLERS = 2, 8
TENSOR = {"name": "X", "datatype": "FP32", "shape": [-1, 1]}
ENTRY = {"model": "m", "version": "0", "endpoint": "dev-text", "target_model": None}
CATALOG = json.dumps({**ENTRY, "signature": {"inputs": [TENSOR], "outputs": []}})


class Server(BaseHTTPRequestHandler):
    """Sleeps for each invocation, and has one catalog entry."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # http.server's name
        """Answer one request."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        content: object = {"outputs": []}
        if "X-Amz-Target" in self.headers:
            content = {"Parameter": {"Value": CATALOG}}
        else:
            time.sleep(SERVICE_SECONDS)
        body = json.dumps(content).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        self.wfile.write(f"{head}\r\n\r\n".encode() + body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def serve(port: Connection) -> None:
    """Serve until the process is ended; tell the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    port.send(server.server_port)
    server.serve_forever()


async def generated(callers: int) -> float:
    """Return the requests a second of the load generator."""
    request = Request(ModelTarget("dev-text", "m"), {"X": np.ones((1, 1), np.float32)})
    client = EndpointClient(stage="dev", endpoint="text", session=boto3.Session("key", "secret"))
    async with AsyncEndpointClient(client) as asynchronous:

        async def send(sent: Request) -> object:
            return await asynchronous.invoke(sent.target.model, sent.inputs)

        step = await closed_loop(send, repeat(request), callers, SECONDS, 0.01)
    assert not step.errors, step.first_error
    return step.achieved_rps


def of_hey(hey: str, url: str, callers: int) -> float:
    """Return the requests a second of hey."""
    command = [hey, "-z", f"{SECONDS}s", "-c", f"{callers}", "-m", "POST", "-d", "{}", url]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rate = re.search(r"Requests/sec:\s+([\d.]+)", printed)
    assert rate, printed
    return float(rate[1])


def main() -> int:
    """Print a table; return the exit code."""
    hey = shutil.which("hey")
    if hey is None:
        print("hey is not installed: apt-get install hey")
        return 0
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ours.recv()}"
    os.environ |= {"AWS_ENDPOINT_URL": url, "AWS_DEFAULT_REGION": "us-east-1"}
    worst = 0.0
    for callers in CALLERS:
        path = f"{url}/endpoints/dev-text/invocations"
        rates = asyncio.run(generated(callers)), of_hey(hey, path, callers)
        difference = rates[0] / rates[1] - 1
        worst = max(worst, abs(difference))
        print(f"{callers} callers: {rates[0]:.1f}/s, hey {rates[1]:.1f}/s: {difference:+.1%}")
    server.terminate()
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
