"""The app of any tree, in one process that has Python, jsii and the CDK started already.

A synth of a small stage takes half a second of CPU there, and four where it starts them. The tree's
own modules are imported anew each time, so that the assembly is what `python app.py` writes. A
program that a test starts runs its app there too, as `python -m tests.warm_app MODULE ...`.
"""

import atexit
import importlib
import io
import json
import os
import runpy
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from release import tree

ROOT = Path(__file__).parents[1]
CDK = "aws_cdk"
SOCKET = "TESTS_WARM_APP"
"""The variable with the path of the process's socket, for programs that tests start."""

run_cold = tree.run_app


def run_app(
    program: Sequence[str], *, cwd: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a program of a tree, as `release.tree.run_app` does: its app in the process here."""
    if program != (tree.APP,):
        return run_cold(program, cwd=cwd, environment=environment)
    request = {"cwd": str(cwd), "environment": dict(environment)}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(_socket())
        with connection.makefile("rw") as lines:
            print(json.dumps(request), file=lines, flush=True)
            answer = json.loads(lines.readline())
    return subprocess.CompletedProcess(program, answer["code"], stderr=answer["stderr"])


@cache
def _socket() -> str:
    """Return the socket of the process, which is started first where none is; it ends with this."""
    if path := os.environ.get(SOCKET):
        return path
    folder = TemporaryDirectory(prefix="warm-app-")
    path = os.environ[SOCKET] = str(Path(folder.name, "socket"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm_app", "serve", str(listener.fileno())],
            cwd=ROOT,
            stdin=subprocess.PIPE,  # which ends with this process, however it ends
            pass_fds=[listener.fileno()],
        )
    atexit.register(folder.cleanup)
    atexit.register(process.communicate)
    return path


def _main(command: str, *arguments: str) -> None:
    """Serve, or run a module as `python -m` does, with the app in the process that serves."""
    if command == "serve":
        threading.Thread(target=_end_with_stdin, daemon=True).start()
        _serve(socket.socket(fileno=int(arguments[0])))
        return
    tree.run_app = run_app
    sys.argv = [command, *arguments]
    runpy.run_module(command, run_name="__main__", alter_sys=True)


def _end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(0)


def _serve(listener: socket.socket) -> None:
    """Run an app for each connection, one after the other."""
    importlib.import_module("cdk_nag")  # and the CDK: the installed ones, which trees share
    installed = [folder for folder in sys.path if Path(folder).resolve() != ROOT]
    sys.dont_write_bytecode = True
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile("rw") as lines:
            request = json.loads(lines.readline())
            os.environ.clear()
            os.environ.update(request["environment"])
            imports = request["environment"]["PYTHONPATH"].split(os.pathsep)
            sys.path = [*imports, *installed]
            stderr = io.StringIO()
            with redirect_stderr(stderr), redirect_stdout(io.StringIO()):
                code = _run(Path(request["cwd"]))
            print(json.dumps({"code": code, "stderr": stderr.getvalue()}), file=lines, flush=True)


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
        values = {**(context or {}), **json.loads(os.environ["CDK_CONTEXT_JSON"])}
        return app(context=values, outdir=os.environ["CDK_OUTDIR"], **more)

    cdk.App = in_the_environment


if __name__ == "__main__":
    _main(*sys.argv[1:])
