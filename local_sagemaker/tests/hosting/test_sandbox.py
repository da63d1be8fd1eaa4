import json
import os
import pwd
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from local_sagemaker.hosting import broker, sandbox
from local_sagemaker.prerequisites import UNSHARE, _can_unshare

pytestmark = pytest.mark.skipif(
    not _can_unshare(), reason="this machine does not allow private mount namespaces"
)

SHOW_MODELS = """\
import os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import sandbox
sandbox.ROOT = Path(sys.argv[2], "ml")
sandbox.mount_models(os.open(sys.argv[3], os.O_PATH), sandbox.ROOT / "models")
top = sandbox.ROOT.parent
for path in sorted(top.rglob("*")):
    print(path.relative_to(top), path.is_symlink(), path.is_dir() or path.read_text())
try:
    (sandbox.ROOT / "models" / "written").touch()
except OSError as error:
    print(os.strerror(error.errno))
"""
OPEN_FILES = """\
import json, os, sys
def attempt(path, mode):
    try:
        with open(path, mode) as file:
            return file.read() if mode == "r" else "written"
    except OSError as error:
        return os.strerror(error.errno)
print(json.dumps([attempt(path, mode) for path, mode in json.loads(sys.argv[1])]))
"""
UNDO_MOUNTS = """\
import ctypes, os, sys
libc, home = ctypes.CDLL(None), sys.argv[1].encode()
MNT_DETACH, MS_BIND_REMOUNT, CLONE_NEWUSER_AND_NEWNS = 2, 0x1020, 0x10020000
print(libc.umount2(home, MNT_DETACH))
print(libc.mount(None, b"/", None, MS_BIND_REMOUNT, None))
print(libc.unshare(CLONE_NEWUSER_AND_NEWNS))
print(libc.umount2(home, MNT_DETACH))
print(libc.mount(None, b"/", None, MS_BIND_REMOUNT, None))
print(libc.umount2(b"/opt", MNT_DETACH))
try:
    print(open(sys.argv[1] + "/.aws/credentials").read())
except OSError as error:
    print(os.strerror(error.errno))
"""
MISSING, READ_ONLY = "No such file or directory", "Read-only file system"


class User:
    """A home folder with a project, the folder of an instance, and programs."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        self.folder = self.project / ".local_sagemaker" / "instance"
        self.models = self.folder / "models"
        self.programs = self.home / ".venv"
        for folder in (self.models / "flat" / "model", self.programs, self.home / ".aws"):
            folder.mkdir(parents=True)
        (self.home / ".aws" / "credentials").write_text("secret")
        (self.project / "app.py").write_text("source")
        (self.programs / "library").write_text("a library")
        (self.models / "flat" / "model" / "config.pbtxt").write_text("max_batch_size: 8")

    def run(
        self, *command: str, descriptor: int | None = None, also: Sequence[Path] = ()
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command in the sandbox; its standard input and `descriptor` stay open.

        With `descriptor` the command is a broker, which reads an environment to the end.
        """
        stdin_reader, stdin_writer = os.pipe()
        with (
            pytest.MonkeyPatch.context() as patch,
            os.fdopen(stdin_reader),
            os.fdopen(stdin_writer, "w") as stdin,
        ):
            if descriptor is not None:
                stdin.write("{}")
                stdin.close()
            patch.setenv("HOME", str(self.home))
            patch.chdir(self.project)
            pythons = Path(sys.prefix), Path(sys.base_prefix)
            visible = [self.programs, *pythons, self.home / "absent", *also]
            isolation = sandbox.command(self.folder, (self.models, sandbox.MODELS), visible)
            return subprocess.run(
                [*UNSHARE, *isolation, *command],
                stdin=stdin_reader,
                pass_fds=[] if descriptor is None else [descriptor],
                capture_output=True,
                text=True,
                check=False,
            )

    def attempt(self, *attempts: tuple[Path, str], also: Sequence[Path] = ()) -> list[str]:
        """Return the content of each file, "written" or the error; `also` are links of programs."""
        serialized = json.dumps([(str(path), mode) for path, mode in attempts])
        result = self.run(sys.executable, "-IS", "-c", OPEN_FILES, serialized, also=also)
        assert result.returncode == 0, result.stderr
        answers: list[str] = json.loads(result.stdout)
        return answers


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_home_and_project_are_hidden(user: User) -> None:
    assert user.attempt(
        (user.home / ".aws" / "credentials", "r"),
        (user.project / "app.py", "r"),
        (user.programs / "library", "r"),
        (user.models / "flat" / "model" / "config.pbtxt", "r"),
    ) == [MISSING, MISSING, "a library", "max_batch_size: 8"]


def test_target_of_a_linked_home_is_hidden(tmp_path: Path) -> None:
    user = User(tmp_path)
    user.home.rename(tmp_path / "disk")
    user.home.symlink_to(tmp_path / "disk")
    assert user.attempt(
        (user.home / ".aws" / "credentials", "r"),
        (tmp_path / "disk" / ".aws" / "credentials", "r"),
        (user.programs / "library", "r"),
    ) == [MISSING, MISSING, "a library"]


def test_project_inside_a_program_folder_is_hidden(tmp_path: Path) -> None:
    user = User(tmp_path)
    user.programs = user.project.parent / "environment"
    user.programs.mkdir()
    (user.programs / "library").write_text("a library")
    user.project = user.project.rename(user.programs / "project")
    user.folder = user.project / ".local_sagemaker" / "instance"
    user.models = user.folder / "models"
    assert user.attempt((user.project / "app.py", "r"), (user.programs / "library", "r")) == [
        MISSING,
        "a library",
    ]


def test_home_of_the_password_database_is_hidden(
    user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "secret").write_text("secret")
    entry = pwd.struct_passwd(("me", "", os.getuid(), os.getgid(), "", str(real), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: entry)
    monkeypatch.setattr(sandbox, "TEMPORARY", tmp_path / "absent")
    assert user.attempt((real / "secret", "r")) == [MISSING]


@pytest.mark.parametrize("home", ["/proc/none", "/sys"])
def test_absent_or_read_only_home_is_ignored(user: User, home: str) -> None:
    programs = user.programs
    user.home = Path(home)
    assert user.attempt((programs / "library", "r")) == ["a library"]


def test_linked_python_in_the_home_is_readable(user: User) -> None:
    installed, link = user.home / "pythons" / "3.11", user.home / ".local" / "bin" / "python"
    installed.mkdir(parents=True)
    link.parent.mkdir(parents=True)
    (installed / "python").write_text("a program")
    (installed.parent / "current").symlink_to("3.11")
    link.symlink_to("../../pythons/current/python")
    assert sandbox.links(link) == {link}
    user.programs = installed
    (installed / "library").touch()
    assert user.attempt((link, "r"), also=[link, installed.parent / "current"]) == ["a program"]


def test_linked_virtual_environment_is_readable(user: User) -> None:
    """The virtual environment of a second clone may be a link to the first clone."""
    (user.programs / "bin").mkdir()
    (user.programs / "bin" / "python").write_text("a program")
    linked = user.project / ".venv"
    linked.symlink_to(user.programs)
    program = linked / "bin" / "python"
    results = user.attempt((program, "r"), (linked / "library", "r"), also=[linked, program])
    assert results == ["a program", "a library"]


def test_only_harmless_devices_are_available(user: User) -> None:
    names = user.run("/bin/ls", "/dev").stdout.split()
    assert names == ["fd", "full", "null", "random", "shm", "urandom", "zero"]


def test_folders_are_read_only_on_an_older_kernel(user: User, tmp_path: Path) -> None:
    older = tmp_path / "older" / "sandbox.py"
    older.parent.mkdir()
    source = Path(sandbox.__file__).read_text()
    assert "AT_RECURSIVE, MOUNT_ATTR_RDONLY = 442," in source
    unknown = source.replace("MOUNT_ATTR_RDONLY = 442,", "MOUNT_ATTR_RDONLY = 4442,")
    older.write_text(unknown)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "__file__", str(older))
        attempts = user.attempt(
            (user.folder / "written", "w"),
            (user.models / "written", "w"),
            (sandbox.MODELS / "written", "w"),
            (Path("/tmp/written"), "w"),
        )
    assert attempts == [READ_ONLY] * 3 + ["written"]


def test_files_of_other_programs_in_tmp_are_hidden(user: User, tmp_path: Path) -> None:
    (tmp_path / "ssh-agent").write_text("of another program")
    assert user.attempt((tmp_path / "ssh-agent", "r")) == [MISSING]
    assert user.run("/bin/sh", "-c", "ls -A /run").stdout == ""


def test_only_private_folders_are_writable(
    user: User,
) -> None:
    attempts = user.attempt(
        (Path("here"), "w"),
        (Path("/tmp/written"), "w"),
        (user.home / "written", "w"),
        (user.project / "written", "w"),
        (user.folder / "written", "w"),
        (user.models / "written", "w"),
        (sandbox.MODELS / "written", "w"),
        (user.programs / "written", "w"),
        (Path("/etc/written"), "w"),
        (Path("/written"), "w"),
    )
    assert attempts == ["written"] * 4 + [READ_ONLY] * 6
    assert {path.name for path in (user.folder / "tmp").iterdir()} >= {"here", "written"}
    assert not Path("/tmp/written").exists()
    assert not (user.home / "written").exists()


def test_root_of_a_user_namespace_cannot_undo_the_sandbox(user: User) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        descriptor = listener.fileno()
        undo = [sys.executable, "-IS", "-c", UNDO_MOUNTS, str(user.home)]
        brokered = [sys.executable, broker.__file__, str(descriptor), "-", *undo]
        result = user.run(*brokered, descriptor=descriptor)
    failed, succeeded = "-1\n", "0\n"
    assert result.stdout == 2 * failed + succeeded + 3 * failed + f"{MISSING}\n", result.stderr


def test_home_that_is_a_program_folder_is_not_hidden(tmp_path: Path) -> None:
    user = User(tmp_path)
    user.programs = user.home
    assert user.attempt((user.home / ".aws" / "credentials", "r")) == ["secret"]


def test_home_at_the_root_is_not_hidden(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/"))
    assert user.attempt((user.programs / "library", "r")) == ["a library"]


def test_files_next_to_the_models_are_kept(tmp_path: Path) -> None:
    models, parent = tmp_path / "models", tmp_path / "opt"
    (parent / "python" / "bin").mkdir(parents=True)
    (parent / "python" / "bin" / "python3").write_text("a program")
    (parent / "file").write_text("a file")
    (parent / "link").symlink_to("file")
    (parent / "ml" / "hidden").mkdir(parents=True)
    models.mkdir()
    (models / "one").write_text("a model")
    below = (str(Path(sandbox.__file__).parent), str(parent), str(models))
    result = subprocess.run(
        [*UNSHARE, sys.executable, "-IS", "-c", SHOW_MODELS, *below],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.splitlines() == [
        "file False a file",
        "link True a file",
        "ml False True",
        "ml/models False True",
        "ml/models/one False a model",
        "python False True",
        "python/bin False True",
        "python/bin/python3 False a program",
        READ_ONLY,
    ], result.stderr
    assert sorted(path.name for path in parent.iterdir()) == ["file", "link", "ml", "python"]


@pytest.mark.parametrize("isolated", [True, False])
@pytest.mark.parametrize("exists", [True, False])
def test_model_path_without_mounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolated: bool, exists: bool
) -> None:
    root = tmp_path / ("." if exists else "absent") / "ml"
    monkeypatch.setattr(sandbox, "ROOT", root)
    results = sandbox.path_in_sandbox(tmp_path, root / "models", isolated=isolated)
    assert results == (root / "models" if isolated and exists else tmp_path)
