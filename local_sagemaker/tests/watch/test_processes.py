import os
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.hosting.model_store import name
from local_sagemaker.watch.processes import Processes, Usage

STUB = "/backends/python/triton_python_backend_stub"


class Machine:
    """A folder as /proc is; the session of a process is the hundreds of its number."""

    def __init__(self, proc: Path) -> None:
        self.proc, self.now = proc, 10.0
        (proc / "self").mkdir()

    def has(self, number: int, *arguments: str, kib: int = 100, seconds: int = 0) -> None:
        process = self.proc / str(number)
        process.mkdir(exist_ok=True)
        ticks = seconds * os.sysconf("SC_CLK_TCK")
        (process / "cmdline").write_bytes(b"\0".join(it.encode() for it in arguments))
        (process / "smaps_rollup").write_text(f"Rss: {9 * kib} kB\nPss:    {kib} kB\n")
        fields = ["0"] * 11 + [str(ticks), "0", "0", "0"]
        (process / "stat").write_text(f"{number} (a b) {' '.join(fields)} 0\n")

    def processes(self, *sessions: int) -> Processes:
        session_of: Any = lambda number: number // 100 * 100  # noqa: E731
        return Processes(
            lambda: sessions, proc=self.proc, session_of=session_of, clock=lambda: self.now
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_memory_is_that_of_a_session_and_of_the_models_that_python_runs(machine: Machine) -> None:
    folder = name("m.tar.gz")
    model = f"/opt/ml/models/{folder}/model/m/1/model.py"
    machine.has(100, "tritonserver", f"--model-repository=/opt/ml/models/{folder}/model/")
    machine.has(101, STUB, model, kib=20)
    machine.has(102, STUB, model, kib=5)
    machine.has(200, "tritonserver", kib=7)
    machine.has(300, "something else")
    found = machine.processes(100, 200, 400).look()
    assert found == {
        100: Usage(memory=125 * 1024, models={folder: 25 * 1024}),
        200: Usage(memory=7 * 1024),
        400: Usage(),
    }


def test_processors_are_percent_since_the_last_look(machine: Machine) -> None:
    processes = machine.processes(100)
    machine.has(100, "tritonserver", seconds=3)
    assert processes.look()[100].cpu is None
    machine.now += 2
    machine.has(100, "tritonserver", seconds=4)
    assert processes.look()[100].cpu == 50.0
    machine.now += 2
    machine.has(100, "tritonserver", seconds=1)  # what had used more has ended
    assert processes.look()[100].cpu == 0.0


def test_a_process_that_has_just_ended_is_left_out(machine: Machine) -> None:
    machine.has(100, "tritonserver")
    (machine.proc / "100" / "smaps_rollup").unlink()
    assert machine.processes(100).look() == {100: Usage()}
