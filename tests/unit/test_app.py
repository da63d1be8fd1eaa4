"""app.py, run like the CDK CLI runs it."""

import os
import signal
import sys
from pathlib import Path

from tests.processes import run_program
from tests.unit.test_repository import ROOT


def test_interrupt_during_import_has_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "aws_cdk.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    process = run_program(
        sys.executable,
        str(ROOT / "app.py"),
        code=None,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert (process.returncode, process.stderr) == (-signal.SIGINT, "")


def test_missing_packages_are_one_line_with_the_fix(tmp_path: Path) -> None:
    process = run_program(sys.executable, "-I", "-S", str(ROOT / "app.py"), code=None, env={})
    fix = "No module named 'aws_cdk': make install, then: . .venv/bin/activate\n"
    assert process.returncode == 1
    assert process.stderr == f"error: {sys.executable}: {fix}"
