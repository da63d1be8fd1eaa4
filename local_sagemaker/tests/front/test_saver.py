"""Which calls are saved, and when."""

import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from types import SimpleNamespace

import pytest

from local_sagemaker.front.saver import Saver
from local_sagemaker.kept_state import CONFLICT, SAVE_PATH


class Emulator:
    """A server that records what it is sent to save; `status` is its answer."""

    def __init__(self) -> None:
        self.status, self.saved = 200, list[tuple[str, str]]()
        emulator = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                emulator.saved.append((self.path, body.decode()))
                self.send_response(emulator.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Write nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    emulator = Emulator()
    thread = Thread(target=emulator.server.serve_forever)
    thread.start()
    yield emulator
    emulator.server.shutdown()
    thread.join()
    emulator.server.server_close()


@pytest.fixture
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local_sagemaker.front.saver.MAX_LOAD", 1e9)


@pytest.mark.usefixtures("_without_pauses")
def test_a_change_is_saved_once(emulator: Emulator) -> None:
    saver = Saver(emulator.url, lambda: {"hosting": {}})
    saver.save_changes()
    assert emulator.saved == []
    saver.add_call()
    saver.save_changes()
    saver.save_changes()
    assert emulator.saved == [(SAVE_PATH, '{"hosting": {}}')]


@pytest.mark.usefixtures("_without_pauses")
def test_changed_records_are_saved(emulator: Emulator) -> None:
    records: dict[str, str] = {}
    saver = Saver(emulator.url, lambda: records)
    records["model"] = "a"
    saver.save_changes()
    saver.save_changes()
    saver.save_end()
    record = '{"model": "a"}'
    assert emulator.saved == [(SAVE_PATH, record), (f"{SAVE_PATH}?end", record)]


@pytest.mark.usefixtures("_without_pauses")
def test_save_during_a_change_of_a_stack_is_repeated(emulator: Emulator) -> None:
    saver = Saver(emulator.url, dict)
    saver.add_call()
    emulator.status = CONFLICT
    saver.save_changes()
    emulator.status = 200
    saver.save_changes()
    saver.save_changes()
    assert len(emulator.saved) == 2


def test_saves_take_a_small_share_of_the_time(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = [10.0, 11.0, 29.0, 31.0, 31.0]  # a save of one second, then two attempts
    clock = SimpleNamespace(monotonic=lambda: times.pop(0))
    monkeypatch.setattr("local_sagemaker.front.saver.time", clock)
    saver = Saver(emulator.url, dict)
    saver.add_call()
    saver.save_changes()
    saver.add_call()
    saver.save_changes()
    assert len(emulator.saved) == 1
    saver.save_changes()
    assert len(emulator.saved) == 2


def test_end_of_the_emulator_is_no_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    Saver(f"http://127.0.0.1:{port}", dict).save_end()
