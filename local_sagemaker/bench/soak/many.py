"""What is done to the endpoint of many models, and to its clients."""

import random
import re
import socket
import threading
from collections import deque
from pathlib import Path

from local_sagemaker.bench.soak.asking import request, small_request
from local_sagemaker.bench.soak.ground import UNANSWERED, Ground, Lane, kill, until
from local_sagemaker.bench.soak.record import NOT_READY
from local_sagemaker.bench.soak.scene import BROKEN, BUCKET, MANY, MODELS, SLOW
from local_sagemaker.hosting.model_store import name
from local_sagemaker.tests.support.asking import processes
from local_sagemaker.tests.support.tiny_models import times

VICTIM, VICTIMS_FACTOR = "victim", 5
STUB_DIED = "Stub process .* is not healthy"
LINGERING = 1
"""Clients that have sent half a request, and stay: their model is in use for so long."""


class Many:
    """Its `lane` is what follows one another."""

    def __init__(self, ground: Ground) -> None:
        self._ground, self._scene, self._asker = ground, ground.scene, ground.asker
        self._record = ground.record
        self._lingering: deque[socket.socket] = deque()
        self.lane: Lane = {
            "publish": (20, self._publish),
            "ask for what cannot be loaded": (25, self._ask_for_the_broken),
            "ask a slow model": (45, lambda _: self._ask(SLOW)),
            "send half a request": (30, self._send_half),
            "hang up under an answer": (30, self._hang_up),
            "replace an archive while it is loaded": (60, self._replace_while_loading),
            "delete an archive": (100, self._delete_archive),
            "kill a stub": (150, self._kill_stub),
            "kill the server of many": (150, self._kill_server),
            "update many": (500, lambda _: self._update()),
        }

    def close(self) -> None:
        """Have the clients that stay go."""
        while self._lingering:
            self._lingering.pop().close()

    def _publish(self, chance: random.Random) -> None:
        self._scene.publish(chance.choice(MODELS))

    def _ask_for_the_broken(self, chance: random.Random) -> None:
        model = chance.choice(list(BROKEN))
        answer = self._asker.send(MANY, model, small_request())
        said = f"{answer.status} {answer.body.decode(errors='replace')}"
        if not re.search(BROKEN[model], said) and not NOT_READY.match(said):
            self._record.surprise(f"{model}: {said}")

    def _send_half(self, chance: random.Random) -> None:
        self._lingering.append(self._sent(chance, whole=False))
        if len(self._lingering) > LINGERING:
            self._lingering.popleft().close()

    def _hang_up(self, chance: random.Random) -> None:
        with self._sent(chance, whole=True) as connection:
            connection.recv(1024)

    def _replace_while_loading(self, chance: random.Random) -> None:
        model = chance.choice(MODELS)
        loading = threading.Thread(target=self._asker.ask, args=(MANY, model, request(chance)))
        loading.start()
        self._scene.publish(model)
        loading.join()

    def _delete_archive(self, chance: random.Random) -> None:
        model = chance.choice(MODELS)
        with self._record.excused(MANY, model, "Failed to download model data"):
            self._scene.s3.delete_object(Bucket=BUCKET, Key=f"{model}.tar.gz")
            for _ in range(3):
                self._ask(model)
            self._scene.publish(model)

    def _kill_stub(self, chance: random.Random) -> None:
        """Of a model that nobody else asks: it fails until the server is replaced, at once here.

        Unloaded by Triton, which takes 350 s, it would hold one of the threads that others need.
        """
        self._scene.put(VICTIM, times(VICTIMS_FACTOR))
        self._scene.allow(MANY, VICTIM, VICTIMS_FACTOR)
        with self._record.excused(MANY, VICTIM, STUB_DIED):
            self._ask(VICTIM)
            for pid in processes(self._ground.folder.instances, "triton_python_backend_stub"):
                if name(f"{VICTIM}.tar.gz") in _command(pid):
                    kill(pid)
            self._ask(VICTIM)
            self._kill_server(chance)

    def _kill_server(self, chance: random.Random) -> None:
        with self._record.excused(MANY, None, UNANSWERED):
            self._ground.kill_server(MANY, chance)
            until(lambda: self._ask(chance.choice(MODELS)))

    def _update(self) -> None:
        serving = self._scene.sagemaker.describe_model(ModelName=self._ground.configs[MANY])
        if not self._ground.update(MANY, serving["PrimaryContainer"], 1):
            self._record.surprise("an update of many was rolled back")

    def _ask(self, model: str) -> bool:
        return self._asker.ask(MANY, model, small_request())

    def _sent(self, chance: random.Random, *, whole: bool) -> socket.socket:
        """Return a connection over which a request was sent, or half of its body."""
        asked = request(chance)
        head = (
            f"POST /endpoints/{MANY}/invocations HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: {asked.kind}\r\nContent-Length: {len(asked.body)}\r\n"
            f"X-Amzn-SageMaker-Target-Model: {chance.choice(MODELS)}.tar.gz\r\n\r\n"
        )
        connection = socket.create_connection(("127.0.0.1", self._ground.port))
        size = len(asked.body) if whole else len(asked.body) // 2
        connection.sendall(head.encode() + asked.body[:size])
        return connection


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:  # it has ended
        return ""
