"""Processes that outgrow their instance are killed, the largest first."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from local_sagemaker.dashboard_events import EventKind
from local_sagemaker.hosting.capacity import MIB, Capacity
from local_sagemaker.hosting.container import ModelStatus, Phase
from local_sagemaker.hosting.copies import CopyHost
from local_sagemaker.hosting.instance import RunningServer
from local_sagemaker.hosting.memory_limit import MemoryLimit

MODEL = "import sys; b = b'x' * (96 << 20); print(flush=True); sys.stdin.read()"
SERVER = f"""
import subprocess, sys
model = subprocess.Popen([sys.executable, "-c", {MODEL!r}, "/opt/ml/models/leaks-hash/model"])
print(model.wait(), flush=True)
sys.stdin.read()
"""


class Server:
    """A server whose only model has 96 MiB, on an instance with 64 MiB."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self.process, self.events = process, list[tuple[EventKind, str]]()
        log = folder / "triton.log"
        log.write_text("Triton's line\n")
        triton: Any = SimpleNamespace(session=process.pid, log=log)
        status = ModelStatus("leaks.tar.gz", Phase.LOADED, 0, 1, 1, 1, folder="leaks-hash")
        self.container: Any = SimpleNamespace(is_loading=False, statuses=lambda: [status])
        self.running = RunningServer(
            triton,
            self.container,
            folder,
            Capacity(memory=64 * MIB, disk=1),
            report_event=lambda kind, message: self.events.append((kind, message)),
        )
        self.log = log

    def check(self, server: RunningServer | None = None, *, component: bool = False) -> None:
        instance = SimpleNamespace(server=server or self.running)
        fleet: Any = SimpleNamespace(instances=lambda: [instance], serves_component=component)
        MemoryLimit(lambda: [("shop", fleet)]).check()

    def end_of_model(self) -> int:
        assert self.process.stdout
        return int(self.process.stdout.readline())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        assert process.stdout
        process.stdout.readline()  # the model has its memory
        yield Server(process, tmp_path)


def test_process_of_a_copy_is_killed_at_the_limit_of_its_instance(server: Server) -> None:
    server.check(component=True)  # a reservation is no limit
    assert server.events == []
    host: Any = CopyHost("i-1", {"VariantName": "only", "InstanceType": "ml.m5.xlarge"})
    host.slots.append(SimpleNamespace(instances=[SimpleNamespace(healthy_server=server.running)]))
    server.check(RunningServer(host, host, server.running.folder, server.running.capacity))
    assert server.end_of_model() == -9
    assert len(server.events) == 1


def test_container_that_loads_makes_room_itself(server: Server) -> None:
    server.container.is_loading = True
    server.check()
    assert server.events == []
