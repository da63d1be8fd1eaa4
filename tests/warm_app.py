"""The app of any tree, in one process that has Python, jsii and the CDK started already.

A synth of a small stage takes half a second of CPU there, and four where it starts them. The tree's
own modules are imported anew each time, so that the assembly is what `python app.py` writes.
"""

import atexit
import importlib
import io
import json
import os
import runpy
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from release import tree

ROOT = Path(__file__).parents[1]
CDK = "aws_cdk"

run_cold = tree.run_app


def run_app(
    program: Sequence[str], *, cwd: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a program of a tree, as `release.tree.run_app` does: its app in the process here."""
    if program != (tree.APP,):
        return run_cold(program, cwd=cwd, environment=environment)
    process = _process()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"cwd": str(cwd), "environment": dict(environment)}) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    return subprocess.CompletedProcess(program, answer["code"], stderr=answer["stderr"])


@cache
def _process() -> "subprocess.Popen[str]":
    """Start the process; it ends with this one."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.warm_app"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.communicate)
    return process


def _serve(asked: Iterable[str], answer: Callable[[str], object]) -> None:
    """Run an app for each line; `answer` is given a line for each."""
    importlib.import_module("cdk_nag")  # and the CDK: the installed ones, which trees share
    installed = [it for it in sys.path if Path(it).resolve() != ROOT]
    sys.dont_write_bytecode = True
    for line in asked:
        it = json.loads(line)
        os.environ.clear()
        os.environ.update(it["environment"])
        sys.path = [*it["environment"]["PYTHONPATH"].split(os.pathsep), *installed]
        stderr = io.StringIO()
        with redirect_stderr(stderr), redirect_stdout(io.StringIO()):
            code = _run(Path(it["cwd"]))
        answer(json.dumps({"code": code, "stderr": stderr.getvalue()}) + "\n")


def _run(root: Path) -> int:
    """Run the app of a tree as Python would; return its exit code."""
    for name in [name for name, module in sys.modules.items() if not _is_installed(module)]:
        del sys.modules[name]
    importlib.invalidate_caches()
    _give_the_environment()
    os.chdir(root)
    try:
        runpy.run_path(tree.APP, run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
            return 1
        return ended.code or 0
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def _is_installed(module: ModuleType) -> bool:
    """Whether a module is Python's own or an installed package's, and not of a tree."""
    place = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), "")
    installed = (sys.prefix, sys.base_prefix)
    return module.__name__ == "__main__" or not place or place.startswith(installed)


def _give_the_environment() -> None:
    """Give apps what node has read from its own environment when it was started."""
    cdk: Any = importlib.import_module(CDK)
    app = getattr(cdk, "ColdApp", cdk.App)
    cdk.ColdApp = app

    def in_the_environment(*, context: Mapping[str, Any] | None = None, **more: Any) -> Any:
        given = {**(context or {}), **json.loads(os.environ["CDK_CONTEXT_JSON"])}
        return app(context=given, outdir=os.environ["CDK_OUTDIR"], **more)

    cdk.App = in_the_environment


if __name__ == "__main__":
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1) as answers:
        _serve(sys.stdin, answers.write)
