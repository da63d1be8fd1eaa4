"""What the processes of instances use: of memory and processors, and for which model."""

import os
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from local_sagemaker.hosting import capacity

_STUB = b"triton_python_backend_stub"
_MODEL = re.compile(rb"/([0-9a-f]{32})/model/")
"""In the arguments of what runs a Python model: the folder of its archive, as SageMaker names it.
Source: triton-inference-server/python_backend, src/stub_launcher.cc: the model's path is the first
argument. What runs models of other backends is the server itself, or has the backend's path."""


@dataclass
class Usage:
    """Bytes of an instance's processes, and of those that serve a model, by its folder.

    `cpu` is percent of one processor since the last look, None where this is the first.
    """

    memory: int = 0
    models: dict[str, int] = field(default_factory=dict)
    cpu: float | None = None


class Processes:
    """Looks at the sessions that instances are, by the numbers that `sessions` gives."""

    def __init__(
        self,
        sessions: Callable[[], Iterable[int]],
        *,
        proc: Path = Path("/proc"),
        session_of: Callable[[int], int] = os.getsid,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sessions, self._proc, self._session_of = sessions, proc, session_of
        self._clock = clock
        self._before: dict[int, tuple[float, float]] = {}  # time and processors' seconds

    def look(self) -> dict[int, Usage]:
        """Return what each session uses, in one pass over all processes."""
        found = {it: Usage() for it in self._sessions()}
        seconds = dict.fromkeys(found, 0.0)
        now = self._clock()
        for process in self._proc.iterdir():
            with suppress(ValueError, OSError):  # no process, or one that has just ended
                session = self._session_of(int(process.name))
                if session in found:
                    seconds[session] += capacity.processor_seconds(process)
                    _add(found[session], process)
        for session, used in seconds.items():
            then, before = self._before.get(session, (now, 0.0))
            if now > then:
                found[session].cpu = round(max(0.0, used - before) / (now - then) * 100, 1)
        self._before = {session: (now, used) for session, used in seconds.items()}
        return found


def _add(usage: Usage, process: Path) -> None:
    used = capacity.proportional_bytes(process)
    usage.memory += used
    arguments = (process / "cmdline").read_bytes()
    if _STUB in arguments and (match := _MODEL.search(arguments)):
        folder = match[1].decode()
        usage.models[folder] = usage.models.get(folder, 0) + used
