"""app.py, run like the CDK CLI runs it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.unit.test_repository import ROOT


def test_interrupt_during_import_has_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "aws_cdk.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    process = subprocess.run(
        [sys.executable, str(ROOT / "app.py")],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stderr) == (-signal.SIGINT, "")


def test_missing_packages_are_one_line_with_the_fix(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-I", "-S", str(ROOT / "app.py")],
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    fix = "No module named 'aws_cdk': make install, then: . .venv/bin/activate\n"
    assert process.returncode == 1
    assert process.stderr == f"error: {sys.executable}: {fix}"
