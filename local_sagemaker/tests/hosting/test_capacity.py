import os
import subprocess
import sys

import pytest

from local_sagemaker.hosting import capacity
from local_sagemaker.hosting.capacity import GIB, MIB, Capacity
from local_sagemaker.settings import DISK, MEMORY


@pytest.fixture(autouse=True)
def _large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 4 TiB of memory, and no limits set by the options of `up`."""
    pages = {"SC_PHYS_PAGES": 1 << 30, "SC_PAGE_SIZE": 4096, "SC_CLK_TCK": 100}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    for name in (MEMORY, DISK):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("instance_type", "gib"),
    [
        ("ml.m5.xlarge", 16),
        ("ml.c6i.2xlarge", 16),
        ("ml.r7i.xlarge", 32),
        ("ml.g5.12xlarge", 192),
        ("ml.g6e.2xlarge", 64),
        ("ml.p5.48xlarge", 4096),  # unknown type: the machine's memory
    ],
)
def test_memory_of_instance_types(instance_type: str, gib: int) -> None:
    assert Capacity.for_variant({"InstanceType": instance_type}).memory == gib * GIB


def test_instance_memory_is_limited_by_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1 << 20, "SC_PAGE_SIZE": 4096}.get)
    assert Capacity.for_variant({"InstanceType": "ml.m5.xlarge"}).memory == 4 * GIB


def test_volume_size_defaults_to_30_gib() -> None:
    assert Capacity.for_variant({"VolumeSizeInGB": 7}).disk == 7 * GIB
    assert Capacity.for_variant({}).disk == 30 * GIB


def test_environment_variables_override_the_capacity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY, "300")
    monkeypatch.setenv(DISK, "200")
    variant = {"InstanceType": "ml.m5.xlarge", "VolumeSizeInGB": 7}
    assert Capacity.for_variant(variant) == Capacity(300 * MIB, 200 * MIB, cpus=4)


def test_cpu_seconds_include_ended_child_processes() -> None:
    use_cpu = "import time\nwhile time.process_time() < 0.2: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {use_cpu!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", f"{code}; print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert capacity.cpu_seconds(process.pid) >= 0.2
        process.communicate(b"\n")
    assert capacity.cpu_seconds(process.pid) == 0
