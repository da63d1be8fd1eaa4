"""The end of processes that outgrow the memory of their instance.

On AWS, the kernel of the instance does this: it frees file pages first, and then kills the process
that uses the most memory ("Concepts overview" of the kernel's memory management guide, OOM killer).
A container whose server is killed is replaced. If a Python model's process is killed, Triton
answers its calls with errors until the model is loaded again.
"""

import logging
import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from local_sagemaker.dashboard_events import EventKind
from local_sagemaker.hosting.capacity import MIB, unreclaimable_bytes
from local_sagemaker.hosting.copies import CopyHost
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.instance import RunningServer

_log = logging.getLogger(__name__)

INTERVAL_SECONDS = 1.0
"""Interval of the checks; not shortened by the accelerated clock."""


class MemoryLimit:
    """The memory limit of all instances of `fleets`.

    A reservation of an inference component's copy is no limit (`copies`); its instance has one. A
    container that loads a model makes room itself.
    """

    def __init__(self, fleets: Callable[[], Iterable[tuple[str, Fleet]]]) -> None:
        self._fleets = fleets

    def check(self) -> None:
        """Kill the largest process of each instance whose memory is exceeded."""
        for _, fleet in self._fleets():
            if not fleet.serves_component:
                for instance in fleet.instances():
                    if (server := instance.server) and not server.container.is_loading:
                        _check(server)


def _check(instance: RunningServer) -> None:
    host = instance.container
    servers = host.servers() if isinstance(host, CopyHost) else [instance]
    processes = {
        process: (size, server)
        for server in servers
        for process, size in unreclaimable_bytes(server.triton.session).items()
    }
    used, limit = sum(size for size, _ in processes.values()), instance.capacity.memory
    if used > limit:
        largest = max(processes, key=lambda process: processes[process])
        size, server = processes[largest]
        message = (
            f"It is out of memory: its processes use {used // MIB} of {limit // MIB} MiB. "
            f"{_name(largest, server)}, which used {size // MIB} MiB, was killed, as by the kernel."
        )
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(largest, signal.SIGKILL)
            with server.triton.log.open("a") as log:
                log.write(f"local SageMaker: {message}\n")
            _log.warning("instance %s: %s", instance.id, message)
            server.report_event(EventKind.INSTANCE_UNHEALTHY, message)


def _name(process: int, server: RunningServer) -> str:
    """Return the name of a process, with the model that it serves."""
    try:
        program, *arguments = Path(f"/proc/{process}/cmdline").read_text().split("\0")
    except OSError:
        return f"Process {process}"
    for model in server.container.statuses():
        if model.folder and any(model.folder in argument for argument in arguments):
            return f"The process of {model.target_model}"
    return f"{Path(program).name} ({process})"
