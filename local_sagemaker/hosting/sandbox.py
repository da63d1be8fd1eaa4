"""A program that runs a server without access to the user's files.

Usage, in new user, process and mount namespaces:
`sandbox.py FOLDER MODELS MODELS_TARGET HIDDEN... -- VISIBLE... -- COMMAND...`. FOLDER is the
instance's folder; FOLDER/tmp becomes the working directory and `/tmp`. MODELS is mounted at
MODELS_TARGET, SageMaker's path for models. HIDDEN folders are replaced by empty ones, which contain
only FOLDER, MODELS and VISIBLE (required programs and packages). Only FOLDER/tmp and HIDDEN folders
are writable. FOLDER and MODELS must be read-only: the local SageMaker works there, outside of the
sandbox, and could follow a link that the server has created.
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
VISIBLE_DEVICES = [DEVICES / name for name in ("full", "null", "random", "urandom", "zero")]

MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC = 1, 0x20, 0x1000, 0x4000
PRESERVED_FLAGS = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC
"""Mount flags to preserve; they have the same numbers in statvfs(3) and mount(2)."""
# linux/mount.h and linux/fcntl.h; this system call has the same number on all architectures.
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = 442, -100, 0x8000, 1
SYS_KEYCTL, KEYCTL_JOIN_SESSION_KEYRING = 250, 1  # on x86-64

_libc = ctypes.CDLL(None, use_errno=True)


def path_in_sandbox(folder: Path, target: Path, *, isolated: bool) -> Path:
    """Return the path of `folder` in a sandbox: `target`, or `folder` if mounts are impossible."""
    return target if isolated and ROOT.parent.is_dir() else folder


def command(folder: Path, models: tuple[Path, Path], visible: Iterable[Path]) -> list[str]:
    """Return the prefix of a command that runs in a sandbox; `models` are MODELS, MODELS_TARGET.

    The user's home folders, the working directory (the user's project), /tmp and /run are hidden.
    """
    private = {Path.cwd(), TEMPORARY, SOCKETS}
    for home in (Path.home, lambda: Path(pwd.getpwuid(os.getuid()).pw_dir)):
        with suppress(RuntimeError, KeyError):  # a user without an entry in /etc/passwd
            private.add(home())
    hidden = {path.resolve() for path in private} - {Path("/")}
    required = {*visible, Path(__file__).parent, *links(Path(sys.executable))}
    required |= {path.resolve() for path in required}
    program = [sys.executable, "-IS", __file__]
    folders = [folder.resolve(), models[0].resolve(), models[1]]
    return [*program, *map(str, [*folders, *sorted(hidden), "--", *sorted(required), "--"])]


def links(program: Path) -> set[Path]:
    """Return the chain of symbolic links that leads to a program."""
    chain: set[Path] = set()
    while program.is_symlink() and program not in chain:
        chain.add(program)
        program = program.parent / program.readlink()
    return chain


def enter(
    folder: Path,
    models: Path,
    models_target: Path,
    hidden: Sequence[Path],
    visible: Sequence[Path],
) -> None:
    """Put this process into the sandbox. Raise `OSError` if the kernel does not allow it."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    links = {path for path in visible if path.is_symlink()}
    not_below_links = {path for path in visible if links.isdisjoint(path.parents)}
    descriptors = _open_paths({*not_below_links, folder, models, temporary, *VISIBLE_DEVICES})
    link_targets = {path: path.readlink() for path in links & not_below_links}
    _set_read_only("/", AT_RECURSIVE, read_only=True)
    _hide(DEVICES, descriptors)
    (DEVICES / "shm").mkdir()
    (DEVICES / "fd").symlink_to("/proc/self/fd")
    for path in sorted(hidden):  # parents before their children
        if any(outer in path.parents for outer in hidden):
            path.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and path not in descriptors:
            _hide(path, descriptors, descriptors[temporary] if path == TEMPORARY else None)
            _recreate_links(path, link_targets)
    for path in (folder, models):
        _bind_read_only(descriptors[path], path)
    _bind_writable(descriptors[temporary], temporary)
    if models_target != models:
        mount_models(descriptors[models], models_target)
    for descriptor in descriptors.values():
        os.close(descriptor)
    _libc.syscall(SYS_KEYCTL, KEYCTL_JOIN_SESSION_KEYRING, None)  # a new keyring, without keys
    os.chdir(temporary)


def mount_models(models: int, target: Path) -> None:
    """Mount the folder with descriptor `models` at a path below ROOT, even if ROOT does not exist.

    Only root can create ROOT, but a namespace allows mounts: an empty folder is mounted over the
    parent of ROOT, and the parent's other entries, such as programs, are mounted in it again.
    """
    others = [path for path in ROOT.parent.iterdir() if path != ROOT]
    link_targets = {path: path.readlink() for path in others if path.is_symlink()}
    descriptors = _open_paths(set(others) - set(link_targets))
    _hide(ROOT.parent, descriptors)
    _recreate_links(ROOT.parent, link_targets)
    for descriptor in descriptors.values():
        os.close(descriptor)
    target.mkdir(parents=True)
    _bind_read_only(models, target)


def _open_paths(paths: Iterable[Path]) -> dict[Path, int]:
    """Return a descriptor for each path that exists and is not a link."""
    existing = (path for path in paths if path.exists() and not path.is_symlink())
    return {path: os.open(path, os.O_PATH) for path in existing}


def _hide(folder: Path, descriptors: Mapping[Path, int], replacement: int | None = None) -> None:
    """Mount `replacement` or an empty tmpfs over a folder, and mount opened paths in it again."""
    if replacement is None:
        _mount("tmpfs", folder, "tmpfs", 0)
    else:
        _bind_writable(replacement, folder)
    for path in _outermost(path for path in descriptors if folder in path.parents):
        path.parent.mkdir(parents=True, exist_ok=True)
        if Path(f"/proc/self/fd/{descriptors[path]}").is_dir():
            path.mkdir(exist_ok=True)  # an earlier start may have created it in `replacement`
        else:
            path.touch()
        _bind(descriptors[path], path)


def _recreate_links(folder: Path, link_targets: Mapping[Path, Path]) -> None:
    """Recreate the links below a hidden folder."""
    for path, target in link_targets.items():
        if folder in path.parents and not path.is_symlink() and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(target)


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Return the paths that are not below another of these paths."""
    all_paths = set(paths)
    return sorted(path for path in all_paths if all_paths.isdisjoint(path.parents))


def _bind(descriptor: int, at: Path) -> None:
    """Mount an opened path, and the mounts below it, which the kernel does not allow to omit."""
    _mount(f"/proc/self/fd/{descriptor}", at, None, MS_BIND | MS_REC)


def _bind_writable(descriptor: int, at: Path) -> None:
    _bind(descriptor, at)
    _set_read_only(str(at), 0, read_only=False)


def _bind_read_only(descriptor: int, at: Path) -> None:
    """Mount an opened path read-only, also on kernels before 5.12."""
    _bind(descriptor, at)
    flags = os.statvfs(at).f_flag & PRESERVED_FLAGS
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
    folder, models, models_target, *hidden = map(Path, arguments[:first])
    enter(
        folder,
        models,
        models_target,
        hidden,
        [Path(path) for path in arguments[first + 1 : second]],
    )
    command = arguments[second + 1 :]
    os.execv(command[0], command)


if __name__ == "__main__":
    _main(sys.argv[1:])
