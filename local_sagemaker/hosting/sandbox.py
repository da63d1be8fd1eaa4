"""A program that runs a server without access to the user's files, with models in SageMaker's path.

Usage, in new user, process and mount namespaces:
`sandbox.py FOLDER MODELS SEEN_AT HIDDEN... -- KEPT... -- COMMAND...`. FOLDER is the instance's
folder; FOLDER/tmp becomes the working directory and `/tmp`. MODELS is mounted at SEEN_AT. HIDDEN
folders are covered, except for FOLDER, MODELS and KEPT (required programs and packages) in them.
Only FOLDER/tmp and empty HIDDEN folders are writable. FOLDER and MODELS must be read-only: the
local SageMaker also works there, outside of the sandbox, and could follow a planted link.
"""

import ctypes
import errno
import os
import pwd
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

ROOT = Path("/opt/ml")
MODELS = ROOT / "models"
"""Parent of the unpacked archives `<name>/model` of a multi-model container. Triton only accepts an
archive with config.pbtxt at its root in this path. Source: triton-inference-server/server,
src/sagemaker_server.h (model_path_regex_)."""
MODEL = ROOT / "model"
"""Folder of the unpacked archive of a single-model container."""
TEMPORARY = Path("/tmp")
SOCKETS = Path("/run")
"""Folder of Unix sockets, such as Docker's, which a network namespace does not isolate."""
DEVICES = Path("/dev")
KEPT_DEVICES = [DEVICES / name for name in ("full", "null", "random", "urandom", "zero")]

MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC = 1, 0x20, 0x1000, 0x4000
KEPT_FLAGS = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC
"""Mount flags to preserve; they have the same numbers in statvfs(3) and mount(2)."""
# linux/mount.h and linux/fcntl.h; this system call has the same number on all architectures.
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = 442, -100, 0x8000, 1
SYS_KEYCTL, KEYCTL_JOIN_SESSION_KEYRING = 250, 1  # on x86-64

_libc = ctypes.CDLL(None, use_errno=True)


def seen_at(folder: Path, place: Path, *, isolated: bool) -> Path:
    """Return the path of `folder` in a sandbox: `place`, or `folder` if it cannot be mounted."""
    return place if isolated and ROOT.parent.is_dir() else folder


def command(folder: Path, models: tuple[Path, Path], kept: Iterable[Path]) -> list[str]:
    """Return the prefix of a command that runs in a sandbox; `models` are MODELS and SEEN_AT.

    Hidden are the user's home folders, the working directory (the user's project), /tmp and /run.
    """
    homes = {Path.cwd(), TEMPORARY, SOCKETS}
    for home in (Path.home, lambda: Path(pwd.getpwuid(os.getuid()).pw_dir)):
        with suppress(RuntimeError, KeyError):  # a user without an entry in /etc/passwd
            homes.add(home())
    hidden = {path.resolve() for path in homes} - {Path("/")}
    needed = {*kept, Path(__file__).parent, *links(Path(sys.executable))}
    needed |= {path.resolve() for path in needed}
    program = [sys.executable, "-IS", __file__]
    shown = [folder.resolve(), models[0].resolve(), models[1]]
    return [*program, *map(str, [*shown, *sorted(hidden), "--", *sorted(needed), "--"])]


def links(program: Path) -> set[Path]:
    """Return the chain of symbolic links that leads to a program."""
    hops: set[Path] = set()
    while program.is_symlink() and program not in hops:
        hops.add(program)
        program = program.parent / program.readlink()
    return hops


def enter(
    folder: Path, models: Path, seen_at: Path, hidden: Sequence[Path], kept: Sequence[Path]
) -> None:
    """Put this process into the sandbox. Raise `OSError` if the kernel does not allow it."""
    own = folder / "tmp"
    own.mkdir(exist_ok=True)
    links = {path for path in kept if path.is_symlink()}
    direct = {path for path in kept if links.isdisjoint(path.parents)}
    opened = _opened({*direct, folder, models, own, *KEPT_DEVICES})
    pointing = {path: path.readlink() for path in links & direct}
    _set_read_only("/", AT_RECURSIVE, read_only=True)
    _hide(DEVICES, opened)
    (DEVICES / "shm").mkdir()
    (DEVICES / "fd").symlink_to("/proc/self/fd")
    for path in sorted(hidden):  # parents before their children
        if any(outer in path.parents for outer in hidden):
            path.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and path not in opened:
            _hide(path, opened, opened[own] if path == TEMPORARY else None)
            _link(path, pointing)
    for path in (folder, models):
        _bind_read_only(opened[path], path)
    _bind_writable(opened[own], own)
    if seen_at != models:
        show(opened[models], seen_at)
    for descriptor in opened.values():
        os.close(descriptor)
    _libc.syscall(SYS_KEYCTL, KEYCTL_JOIN_SESSION_KEYRING, None)  # a new keyring, without keys
    os.chdir(own)


def show(models: int, seen_at: Path) -> None:
    """Mount an opened folder at a path below ROOT, even if ROOT does not exist.

    Only root can create ROOT, but a namespace allows mounts: the parent folder is covered by an
    empty one, in which its other entries, such as programs, are mounted again.
    """
    others = [path for path in ROOT.parent.iterdir() if path != ROOT]
    pointing = {path: path.readlink() for path in others if path.is_symlink()}
    opened = _opened(set(others) - set(pointing))
    _hide(ROOT.parent, opened)
    _link(ROOT.parent, pointing)
    for descriptor in opened.values():
        os.close(descriptor)
    seen_at.mkdir(parents=True)
    _bind_read_only(models, seen_at)


def _opened(paths: Iterable[Path]) -> dict[Path, int]:
    """Return a descriptor for each path that exists and is not a link."""
    existing = (path for path in paths if path.exists() and not path.is_symlink())
    return {path: os.open(path, os.O_PATH) for path in existing}


def _hide(folder: Path, opened: Mapping[Path, int], empty: int | None = None) -> None:
    """Cover a folder by `empty` or a tmpfs, and mount the opened paths below it again."""
    if empty is None:
        _mount("tmpfs", folder, "tmpfs", 0)
    else:
        _bind_writable(empty, folder)
    for path in _outermost(path for path in opened if folder in path.parents):
        path.parent.mkdir(parents=True, exist_ok=True)
        if Path(f"/proc/self/fd/{opened[path]}").is_dir():
            path.mkdir(exist_ok=True)  # `empty` may have it since an earlier start
        else:
            path.touch()
        _bind(opened[path], path)


def _link(folder: Path, pointing: Mapping[Path, Path]) -> None:
    """Recreate the links below a folder that has been hidden."""
    for path, target in pointing.items():
        if folder in path.parents and not path.is_symlink() and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(target)


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Return the paths that are not below another one of them."""
    every = set(paths)
    return sorted(path for path in every if every.isdisjoint(path.parents))


def _bind(descriptor: int, at: Path) -> None:
    """Mount an opened path, with the mounts below it, which the kernel does not allow to omit."""
    _mount(f"/proc/self/fd/{descriptor}", at, None, MS_BIND | MS_REC)


def _bind_writable(descriptor: int, at: Path) -> None:
    _bind(descriptor, at)
    _set_read_only(str(at), 0, read_only=False)


def _bind_read_only(descriptor: int, at: Path) -> None:
    """Mount an opened path read-only, on all kernels: the local SageMaker works there too."""
    _bind(descriptor, at)
    flags = os.statvfs(at).f_flag & KEPT_FLAGS
    _mount("none", at, None, MS_REMOUNT | MS_BIND | MS_RDONLY | flags)


def _mount(source: str, at: Path, kind: str | None, flags: int) -> None:
    encoded = os.fsencode(source), os.fsencode(at), kind and kind.encode()
    if _libc.mount(*encoded, ctypes.c_ulong(flags), None) != 0:
        raise OSError(ctypes.get_errno(), f"cannot mount {source} at {at}")


def _set_read_only(path: str, flags: int, *, read_only: bool) -> None:
    """Set whether a mount is read-only. Has no effect on kernels before 5.12."""
    to_set, to_clear = (MOUNT_ATTR_RDONLY, 0) if read_only else (0, MOUNT_ATTR_RDONLY)
    attributes = struct.pack("QQQQ", to_set, to_clear, 0, 0)
    arguments = AT_FDCWD, os.fsencode(path), flags, attributes, ctypes.c_size_t(len(attributes))
    if _libc.syscall(SYS_MOUNT_SETATTR, *arguments) != 0 and ctypes.get_errno() != errno.ENOSYS:
        raise OSError(ctypes.get_errno(), f"cannot change the mount {path}")


def _main(arguments: list[str]) -> None:
    first = arguments.index("--")
    second = arguments.index("--", first + 1)
    folder, models, place, *hidden = map(Path, arguments[:first])
    enter(folder, models, place, hidden, [Path(path) for path in arguments[first + 1 : second]])
    command = arguments[second + 1 :]
    os.execv(command[0], command)


if __name__ == "__main__":
    _main(sys.argv[1:])
