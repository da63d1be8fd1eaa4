"""Starts a server that sees its models where SageMaker has them, and not its user's files.

Started as a program, in user, process and mount namespaces of its own:
`sandbox.py FOLDER MODELS SEEN_AT HIDDEN... -- KEPT... -- COMMAND...`. FOLDER is the instance's;
FOLDER/tmp becomes the working directory and `/tmp`. MODELS are seen at SEEN_AT. Below HIDDEN, the
server sees FOLDER, MODELS and KEPT alone: the programs and packages that it needs. It writes to
FOLDER/tmp and to empty HIDDEN folders. All else is read-only: the local AWS is in no sandbox and
works in FOLDER and MODELS, where a link would lead it elsewhere.
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path("/opt/ml")
MODELS = ROOT / "models"
"""Each archive of a multi-model container is unpacked below it, in `<name>/model`. Triton takes an
archive with its config.pbtxt at the root only from there. Source: triton-inference-server/server,
src/sagemaker_server.h (model_path_regex_)."""
MODEL = ROOT / "model"
"""The archive of a single-model container is unpacked there."""
TEMPORARY = Path("/tmp")
SOCKETS = Path("/run")
"""Of other programs, such as Docker, which a network namespace does not close."""

MS_BIND, MS_REC = 0x1000, 0x4000
# linux/mount.h and linux/fcntl.h; the system call has one number on all machines.
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = 442, -100, 0x8000, 1


def seen_at(folder: Path, place: Path, *, isolated: bool) -> Path:
    """Return where a server sees `folder`: at `place`, if this machine lets it be mounted there."""
    return place if isolated and ROOT.parent.is_dir() else folder


def command(folder: Path, models: tuple[Path, Path], kept: Iterable[Path]) -> list[str]:
    """Return what precedes a command that runs in a sandbox; `models` are MODELS and SEEN_AT.

    Hidden are the home and the working directory, which is the user's project.
    """
    hidden = {Path.home(), Path.cwd(), TEMPORARY, SOCKETS} - {Path("/")}
    program = [sys.executable, "-IS", __file__]
    paths = [folder, *models, *sorted(hidden), "--", *kept, Path(__file__).parent, "--"]
    return [*program, *map(str, paths)]


def enter(
    folder: Path, models: Path, seen_at: Path, hidden: Sequence[Path], kept: Sequence[Path]
) -> None:
    """Become the process that the module describes. Raises `OSError` if the kernel refuses."""
    own = folder / "tmp"
    own.mkdir(exist_ok=True)
    needed = {*kept, folder, models, own}
    opened = {path: os.open(path, os.O_PATH) for path in needed if path.exists()}
    _set_read_only("/", AT_RECURSIVE, read_only=True)
    for path in _outermost(hidden):
        if path.is_dir() and path not in opened:
            below = {it: opened[it] for it in opened if path in it.parents}
            _hide(path, below, opened[own] if path == TEMPORARY else None)
    for path in set(hidden) - {TEMPORARY}:
        if not path.exists():  # it lies below another one
            path.mkdir(parents=True)
    _bind_writable(opened[own], own)
    if seen_at != models:
        show(opened[models], seen_at)
    for descriptor in opened.values():
        os.close(descriptor)
    os.chdir(own)


def show(models: int, seen_at: Path) -> None:
    """Mount an opened folder at a path below ROOT, whether or not this machine has ROOT.

    Only root can make it, but anyone can mount in a namespace: its parent is covered by an empty
    folder, into which all else that was there is mounted again. Programs may lie there.
    """
    others = {path: os.open(path, os.O_PATH) for path in ROOT.parent.iterdir() if path != ROOT}
    links = {path: path.readlink() for path in others if path.is_symlink()}
    _hide(ROOT.parent, {path: others[path] for path in others if path not in links})
    for path, target in links.items():
        path.symlink_to(target)
    for descriptor in others.values():
        os.close(descriptor)
    seen_at.mkdir(parents=True)
    _bind(models, seen_at)


def _hide(folder: Path, kept: dict[Path, int], empty: int | None = None) -> None:
    """Cover a folder by an `empty` one, else one in memory, in which `kept` are seen alone.

    Folders are given by their descriptors.
    """
    if empty is None:
        _mount("tmpfs", folder, "tmpfs", 0)
    else:
        _bind_writable(empty, folder)
    for path in _outermost(kept):
        path.parent.mkdir(parents=True, exist_ok=True)
        if Path(f"/proc/self/fd/{kept[path]}").is_dir():
            path.mkdir(exist_ok=True)  # `empty` may have it since an earlier start
        else:
            path.touch()
        _bind(kept[path], path)


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Return the paths that lie below none of the others."""
    every = set(paths)
    return sorted(path for path in every if every.isdisjoint(path.parents))


def _bind(descriptor: int, at: Path) -> None:
    """Mount what was opened at a path, with what is mounted below it: it cannot be left out."""
    _mount(f"/proc/self/fd/{descriptor}", at, None, MS_BIND | MS_REC)


def _bind_writable(descriptor: int, at: Path) -> None:
    _bind(descriptor, at)
    _set_read_only(str(at), 0, read_only=False)


def _mount(source: str, at: Path, kind: str | None, flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    encoded = os.fsencode(source), os.fsencode(at), kind and kind.encode()
    if libc.mount(*encoded, ctypes.c_ulong(flags), None) != 0:
        raise OSError(ctypes.get_errno(), f"cannot mount {source} at {at}")


def _set_read_only(path: str, flags: int, *, read_only: bool) -> None:
    """Set whether a mount is read-only. An older kernel leaves it as it is for its user."""
    libc = ctypes.CDLL(None, use_errno=True)
    to_set, to_clear = (MOUNT_ATTR_RDONLY, 0) if read_only else (0, MOUNT_ATTR_RDONLY)
    attributes = struct.pack("QQQQ", to_set, to_clear, 0, 0)
    arguments = AT_FDCWD, os.fsencode(path), flags, attributes, ctypes.c_size_t(len(attributes))
    if libc.syscall(SYS_MOUNT_SETATTR, *arguments) != 0 and ctypes.get_errno() != errno.ENOSYS:
        raise OSError(ctypes.get_errno(), f"cannot change the mount {path}")


def _main(arguments: list[str]) -> None:
    first = arguments.index("--")
    second = arguments.index("--", first + 1)
    folder, models, seen, *hidden = map(Path, arguments[:first])
    enter(folder, models, seen, hidden, [Path(it) for it in arguments[first + 1 : second]])
    command = arguments[second + 1 :]
    os.execv(command[0], command)


if __name__ == "__main__":
    _main(sys.argv[1:])
