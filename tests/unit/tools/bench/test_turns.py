"""Runs of compared alternatives ("sides"), which are measured in turns."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tools.bench import turns

BURN = "import time\nwhile time.process_time() < 0.4: pass"
GRANDCHILD = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURN!r}])"


def test_cpu_time_includes_ended_processes() -> None:
    turn = turns.timed(partial(subprocess.run, [sys.executable, "-c", GRANDCHILD], check=True))
    assert turn["CPU s"] >= 0.35
    assert turn["wall s"] >= 0.35


def test_cpu_time_includes_running_processes() -> None:
    program = f"{BURN}\nprint(flush=True)\nimport sys; sys.stdin.read()"
    before = turns.cpu_seconds()
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        assert turns.cpu_seconds() - before >= 0.35
        process.communicate()


def test_failed_command_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="broken"):
        turns.command(sys.executable, "-c", "raise SystemExit('broken')")
    turns.command(sys.executable, "-c", "raise SystemExit(3)", codes=(0, 3))


def test_results_have_machine_versions_commit_and_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "RESULTS", tmp_path)
    with turns.write_results("synth", quick=True) as results:
        results.add("case", "ours", {"wall s": 1.0})
        results.versions["aws-cli"] = "1.2"
    content = json.loads((tmp_path / "synth.json").read_text())
    assert content["quick"] is True
    assert content["rows"] == [{"case": "case", "side": "ours", "turns": [{"wall s": 1.0}]}]
    assert content["machine"].keys() == {"system", "cpus", "memory_gib"}
    assert len(content["load_average"]["before"]) == len(content["load_average"]["after"]) == 3
    assert {"python", "aws-cdk", "boto3", "aws-cli"} <= content["versions"].keys()
    assert content["commit"][:12].isalnum()  # "-dirty" may follow
    assert content["date"].endswith("+00:00")
