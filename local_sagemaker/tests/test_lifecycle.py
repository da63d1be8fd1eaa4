import errno
import fcntl
import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from local_sagemaker import lifecycle
from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.folder import Folder, RunningSageMaker
from local_sagemaker.kept_state import FORMAT
from local_sagemaker.prerequisites import IMAGE_PYTHON, Interpreter, TritonInstallation
from local_sagemaker.tests.support.waiting import TIMEOUT_SECONDS, runs

EMULATOR = """\
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

assert sys.argv[1:3] == ["-m", "local_sagemaker.front.server"], sys.argv
print("started with", os.environ["TMPDIR"], flush=True)
print([name for name in os.environ if name.startswith("AWS_")], flush=True)


STATE = b'''{"endpoints": [{
    "name": "text", "status": "Failed", "failure": "no \\\\u001b[2J archive", "variants": []
}]}'''

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        answers = {"/_ministack/health": b"", "/_local_sagemaker/state": STATE}
        self.send_response(200 if self.path in answers else 404)
        self.end_headers()
        self.wfile.write(answers.get(self.path, b""))


HTTPServer(("127.0.0.1", int(sys.argv[4])), Handler).serve_forever()
"""
CHECK_FREED_MEMORY = """\
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

freed = bytearray(30 << 20)
del freed
large, small = [], []
for _ in range(20):
    large.append(bytearray(4 << 20))
    small.append(bytes(600))
before = resident()
large.clear()
assert before - resident() > 70 << 20, before - resident()
"""
"""Fails if the allocator keeps the memory of freed large blocks."""
FAILING = "import sys\nfor n in range(12): print('line', n)\nsys.exit('no space left')\n"


def installation(
    root: Path, *, python: str = IMAGE_PYTHON, isolated: bool = True
) -> TritonInstallation:
    """Return a Triton installation whose models run in this Python version."""
    interpreter = Interpreter(root / "python", python, root, root / "stub")
    return TritonInstallation(root, interpreter, interpreter, isolated=isolated)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    """A folder for a local SageMaker, which is stopped after the test."""
    triton = installation(tmp_path)
    monkeypatch.setattr(lifecycle, "find_triton", lambda: triton)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # a proxy that does not answer
    folder = Folder(tmp_path / "state")
    yield folder
    lifecycle.down(folder)


def replace_server(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `up` start this program instead of the emulator."""
    script = tmp_path / "python"
    script.write_text(f"#!{sys.executable} -I\n{program}")
    script.chmod(0o755)
    replaced = SimpleNamespace(executable=str(script), stderr=sys.stderr)
    monkeypatch.setattr(lifecycle, "sys", replaced)
    monkeypatch.setattr(lifecycle, "START_SECONDS", TIMEOUT_SECONDS)


def test_up_during_another_up_is_refused(folder: Folder) -> None:
    folder.root.mkdir()
    folder.log.write_text("a log line")
    with folder.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(LocalSageMakerError, match="another `up` is starting"):
            lifecycle.up(folder)
    assert folder.log.read_text() == "a log line"


def test_link_in_place_of_the_lock_is_refused(folder: Folder, tmp_path: Path) -> None:
    """A commit can contain it; opening the lock would empty the file that it leads to."""
    target = tmp_path / "target"
    target.write_text("of the user")
    folder.lock.symlink_to(target)
    with pytest.raises(LocalSageMakerError) as refused:
        lifecycle.up(folder)
    assert str(refused.value) == (
        f"{folder.lock} cannot be opened: it is a link: delete it, or use another folder"
    )
    assert target.read_text() == "of the user"


def test_folder_that_cannot_be_made_is_an_error(folder: Folder, tmp_path: Path) -> None:
    above = tmp_path / "file"
    above.touch()
    with pytest.raises(LocalSageMakerError, match=r"state\.lock cannot be opened: File exists"):
        lifecycle.up(Folder(above / "state"))


def test_full_disk_ends_the_process(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without running.json, `down` would not find the process."""
    started = list[RunningSageMaker]()

    def fail(_: Folder, running: RunningSageMaker) -> None:
        started.append(running)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    replace_server(EMULATOR, tmp_path, monkeypatch)
    monkeypatch.setattr(Folder, "write_running", fail)
    with pytest.raises(LocalSageMakerError, match=r"state cannot be written: No space left"):
        lifecycle.up(folder)
    assert not runs(started[0].pid)


def test_used_port_is_refused(folder: Folder) -> None:
    folder.root.mkdir()
    folder.log.write_text("a log line")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(LocalSageMakerError) as refused:
            lifecycle.up(folder, port=port)
    assert str(refused.value) == f"port {port} is in use: leave --port out to get a free one"
    assert folder.log.read_text() == "a log line"
    assert folder.running() is None


@pytest.mark.parametrize("port", [-1, 0, 65536])
def test_invalid_port_is_refused(folder: Folder, port: int) -> None:
    with pytest.raises(LocalSageMakerError) as refused:
        lifecycle.up(folder, port=port)
    assert str(refused.value) == (
        f"{port} is not a valid port: use 1 to 65535, or leave --port out to get a free one"
    )


def test_failed_start_shows_the_end_of_the_log(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_server(FAILING, tmp_path, monkeypatch)
    with pytest.raises(LocalSageMakerError) as refused:
        lifecycle.up(folder)
    tail = "\n".join(f"line {number}" for number in range(3, 12))
    assert str(refused.value) == (
        f"the local SageMaker did not start; its log, {folder.log}, ends:\n{tail}\nno space left"
    )
    assert folder.running() is None


def test_start_timeout_ends_the_process(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_server(
        "import os, pathlib, sys, time\n"
        "pathlib.Path(sys.argv[3], 'pid').write_text(str(os.getpid()))\n"
        "print('waiting', flush=True)\ntime.sleep(300)\n",
        tmp_path,
        monkeypatch,
    )
    # The timeout is over when the process waits.
    monkeypatch.setattr(
        "time.monotonic",
        lambda: 2 * TIMEOUT_SECONDS if "waiting" in folder.log.read_text() else 0.0,
    )
    with pytest.raises(
        LocalSageMakerError, match=r"the local SageMaker did not start; .* ends:\nwaiting$"
    ):
        lifecycle.up(folder)
    assert not runs(int((folder.root / "pid").read_text()))
    assert folder.running() is None


def test_up_and_down(folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.root.mkdir()
    (folder.root / "of the last run").touch()
    replace_server(EMULATOR, tmp_path, monkeypatch)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_PROFILE", "production")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    running = lifecycle.up(folder, port=port)
    assert running.port == port
    with folder.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the lock has been released
    assert running.python == IMAGE_PYTHON
    assert folder.running() == running
    assert runs(running.pid)
    assert not (folder.root / "of the last run").exists()
    assert folder.log.read_text().startswith(f"started with {folder.temporary}\n[]\n")
    assert [path.stat().st_mode & 0o777 for path in (folder.root, folder.log)] == [0o700, 0o600]
    with pytest.raises(
        LocalSageMakerError, match=rf"is already running: {running.url} \(stop it with `down`\)"
    ):
        lifecycle.up(folder)
    assert lifecycle.down(folder) is True
    assert not runs(running.pid)
    assert folder.running() is None
    assert lifecycle.down(folder) is False


@pytest.mark.parametrize(
    ("python", "isolated", "warning"),
    [
        (
            *(IMAGE_PYTHON, False),
            "warning: this kernel grants no namespaces: each Triton listens on every interface of "
            "this machine, and models read and write all that you can\n",
        ),
        (
            *("3.12", True),
            "warning: Python models run in Python 3.12 here, and archives are built for it, below "
            "other prefixes than on AWS, where it is 3.10: put python3.10 with its libpython on "
            "PATH to have the same\n",
        ),
    ],
)
def test_differences_from_sagemaker_are_warnings(
    folder: Folder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    python: str,
    isolated: bool,
    warning: str,
) -> None:
    triton = installation(tmp_path, python=python, isolated=isolated)
    monkeypatch.setattr(lifecycle, "find_triton", lambda: triton)
    replace_server(FAILING, tmp_path, monkeypatch)
    with pytest.raises(LocalSageMakerError):
        lifecycle.up(folder)
    assert capsys.readouterr().err == warning


def test_memory_of_large_blocks_is_freed(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_server(CHECK_FREED_MEMORY + EMULATOR, tmp_path, monkeypatch)
    lifecycle.up(folder)


STATE = {
    "format": FORMAT,
    "port": 1,
    "saved_at": 1_800_000_000,
    "records": {"hosting": {}, "scaling": [], "codebuild": {}},
}
"""The state of an ended local SageMaker."""


def keep_state(folder: Folder, **changes: object) -> None:
    """Write the state and an object of an ended local SageMaker."""
    folder.kept.mkdir(parents=True)
    folder.objects.mkdir()
    (folder.objects / "key").touch()
    folder.kept_state.write_text(json.dumps({**STATE, **changes}))


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"format": "1"', "is damaged (JSONDecodeError: "),
        ("", "is damaged (JSONDecodeError: "),
        ("[]", "is damaged (TypeError: "),
        (json.dumps({"format": FORMAT}), "is damaged (KeyError: "),
        (json.dumps({**STATE, "port": 70000}), "is damaged (port 70000)"),
        (json.dumps({**STATE, "saved_at": 1e300}), "is damaged ("),
        (json.dumps({**STATE, "records": {}}), "is damaged (KeyError: "),
        ('{"format": "0, ministack 1.0"}', f"has the format 0, ministack 1.0, not {FORMAT}: run "),
    ],
)
def test_unusable_state_is_an_error_only_with_keep(
    folder: Folder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: str,
    problem: str,
    keep: bool,
) -> None:
    keep_state(folder)
    folder.kept_state.write_text(content)
    replace_server(EMULATOR, tmp_path, monkeypatch)
    if not keep:
        lifecycle.up(folder)
        assert not folder.kept_state.exists()
        assert not folder.objects.exists()
        return
    with pytest.raises(LocalSageMakerError) as refused:
        lifecycle.up(folder, keep=True)
    assert f"{folder.kept_state} {problem}" in str(refused.value)
    assert "run `up` without --keep, which deletes it and starts empty" in str(refused.value)
    assert folder.running() is None
    assert (folder.objects / "key").exists()


@pytest.mark.parametrize("has_ended", [True, False])
def test_keep_says_what_is_restored_and_what_is_lost(
    folder: Folder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    has_ended: bool,
) -> None:
    keep_state(folder)
    if has_ended:
        folder.kept_end.touch()
    folder.log.write_text("of the last run")
    replace_server(EMULATOR, tmp_path, monkeypatch)
    lifecycle.up(folder, keep=True)
    assert (folder.objects / "key").exists()
    assert "of the last run" not in folder.log.read_text()
    message = capsys.readouterr().err
    assert message.startswith("restored the state of 2027-01-15 08:00:00 UTC, without metrics")
    assert message.endswith("\nwarning: text is Failed: no \\x1b[2J archive\n")
    assert ("was killed, or ended while a stack was changing" in message) is not has_ended


def test_keep_without_a_state_starts_empty(
    folder: Folder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    keep_state(folder)
    folder.kept_state.unlink()
    replace_server(EMULATOR, tmp_path, monkeypatch)
    lifecycle.up(folder, keep=True)
    assert capsys.readouterr().err == "no state was saved: starting empty\n"
    assert not folder.objects.exists()
