"""Small Python models that load fast."""

import io
import itertools
import socket
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from local_sagemaker.tests.support.waiting import LIMIT_SECONDS

CONFIG = """
backend: "python"
max_batch_size: 8
input [ { name: "X" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] } ]
"""
TIMES = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        inputs = [pb_utils.get_input_tensor_by_name(each, "X").as_numpy() for each in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x * FACTOR)]) for x in inputs]
"""
PLUS_ONE = TIMES.replace("* FACTOR", "+ 1")
CANNOT_LOAD = (
    "class TritonPythonModel:\n",
    "class TritonPythonModel:\n    def initialize(self, args):\n        raise OSError\n\n",
)
"""Old and new text of a model's code: after the replacement, the model fails to load."""

EXIT = "import os; os._exit(1)"
PAUSE = """
import socket


def pause():
    with socket.socket(socket.AF_UNIX) as barrier:
        barrier.connect("BARRIER")
        barrier.recv(1)
"""

ENSEMBLE = """
platform: "ensemble"
max_batch_size: 8
input [ { name: "X" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] } ]
ensemble_scheduling { step [
  { model_name: "times" model_version: -1
    input_map { key: "X" value: "X" } output_map { key: "Y" value: "BETWEEN" } },
  { model_name: "plus" model_version: -1
    input_map { key: "X" value: "BETWEEN" } output_map { key: "Y" value: "Y" } }
] }
"""
SPEAKS_CONFIG = """
backend: "python"
model_transaction_policy { decoupled: true }
input [ { name: "PROMPT" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "TEXT" data_type: TYPE_STRING dims: [ 1 ] } ]
"""
SPEAKS = """
import json
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            prompt = pb_utils.get_input_tensor_by_name(request, "PROMPT").as_numpy()
            response = pb_utils.InferenceResponse([pb_utils.Tensor("TEXT", prompt)])
            sender = request.get_response_sender()
            for _ in range(json.loads(request.parameters()).get("TIMES", 1)):
                sender.send(response)
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write texts below a model's folder by their paths; return the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def write_python(folder: Path, code: str) -> Path:
    """Write a complete repository of one Python model, named as its folder."""
    name = folder.name
    return write(folder, {f"{name}/config.pbtxt": CONFIG, f"{name}/1/model.py": code})


def write_ensemble(folder: Path) -> Path:
    """Write an ensemble of two Python models: twice X, and one more."""
    return write(
        folder,
        {
            "recipe.yaml": "description: Twice X, and one more\n",
            f"{folder.name}/config.pbtxt": ENSEMBLE,
            "times/config.pbtxt": CONFIG,
            "times/1/model.py": TIMES.replace("FACTOR", "2"),
            "plus/config.pbtxt": CONFIG,
            "plus/1/model.py": PLUS_ONE,
        },
    )


def pack(folder: Path) -> bytes:
    """Return the archive of a repository."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(folder, arcname=".")
    return packed.getvalue()


def tar_gz(files: dict[str, bytes], *, mode: str = "w:gz") -> bytes:
    """Return an archive with these member names and contents."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return content.getvalue()


def pack_python(folder: Path, code: str) -> bytes:
    """Write a repository of one Python model, named as its folder, and return the archive."""
    return pack(write_python(folder, code))


def times(factor: int, *, initialize: str = "", execute: str = "") -> str:
    """Return a model that multiplies its input, with a statement at the start of its methods."""
    code = TIMES.replace("FACTOR", str(factor))
    if initialize:
        code += f"\n    def initialize(self, args):\n        {initialize}\n"
    return code.replace("        inputs", f"        {execute}\n        inputs") if execute else code


class Barrier:
    """A socket at which models wait until it is opened; their sandbox can reach it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reached = threading.Event()
        self._is_open = False
        self._waiting: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def pause_code(self) -> str:
        """The code of a function `pause`, which stops at the barrier."""
        return PAUSE.replace("BARRIER", str(self._path))

    def stops(self, factor: int, *, at: str) -> str:
        """Return a model that multiplies its input, and waits at the barrier in method `at`."""
        return self.pause_code + times(factor, **{at: "pause()"})

    def wait_until_reached(self) -> None:
        """Wait until a model has reached the barrier."""
        assert self._reached.wait(LIMIT_SECONDS)

    def open(self) -> None:
        """Let all waiting and all later models continue."""
        with self._lock:
            self._is_open = True
            for model in self._waiting:
                model.close()

    def close(self) -> None:
        """Open the barrier and stop its thread."""
        self.open()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):  # the listener is shut down
            while True:
                model, _ = self._listener.accept()
                with self._lock:
                    if self._is_open:
                        model.close()
                    else:
                        self._waiting.append(model)
                self._reached.set()


@contextmanager
def barriers() -> Iterator[Callable[[], Barrier]]:
    """Yield a function that makes barriers, in a folder that the sandbox of models can access."""
    numbers = itertools.count()
    with TemporaryDirectory(dir="/var/tmp") as folder, ExitStack() as opened:
        yield lambda: opened.enter_context(closing(Barrier(Path(folder, str(next(numbers))))))
