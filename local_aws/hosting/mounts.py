"""Shows a server its models where a container of SageMaker has them, and becomes the server.

Started as a program, in a mount namespace of its own: `mounts.py FOLDER SEEN_AT COMMAND...`.
Triton takes an archive with its config.pbtxt at the root only from below /opt/ml/models. Source:
triton-inference-server/server, src/sagemaker_server.h (model_path_regex_).
"""

import ctypes
import os
import sys
from pathlib import Path

ROOT = Path("/opt/ml")
MODELS = ROOT / "models"
"""Each archive of a multi-model container is unpacked below it, in `<name>/model`."""
MODEL = ROOT / "model"
"""The archive of a single-model container is unpacked there."""

MS_BIND, MS_REC = 0x1000, 0x4000


def seen_at(folder: Path, place: Path, *, isolated: bool) -> Path:
    """Return where a server sees `folder`: at `place`, if this machine lets it be mounted there."""
    return place if isolated and ROOT.parent.is_dir() else folder


def show(folder: Path, seen_at: Path) -> None:
    """Mount `folder` at a path below ROOT, whether or not this machine has ROOT.

    Only root can make it, but anyone can mount in a namespace: its parent is covered by an empty
    folder, into which all else that was there is mounted again. Programs may lie there.
    Raises `OSError` when the kernel does not let us.
    """
    others = [path for path in ROOT.parent.iterdir() if path != ROOT]
    covered = os.open(ROOT.parent, os.O_PATH | os.O_DIRECTORY)
    _mount("tmpfs", ROOT.parent, "tmpfs", 0)
    for path in others:
        _mount_again(Path(f"/proc/self/fd/{covered}/{path.name}"), path)
    os.close(covered)
    seen_at.mkdir(parents=True)
    _bind(folder, seen_at)


def _mount_again(path: Path, at: Path) -> None:
    if path.is_symlink():
        at.symlink_to(path.readlink())
        return
    if path.is_dir():
        at.mkdir()
    else:
        at.touch()
    _bind(path, at)


def _bind(path: Path, at: Path) -> None:
    _mount(str(path), at, None, MS_BIND | MS_REC)  # not without what is mounted below it


def _mount(source: str, at: Path, kind: str | None, flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    encoded = os.fsencode(source), os.fsencode(at), kind and kind.encode()
    if libc.mount(*encoded, ctypes.c_ulong(flags), None) != 0:
        raise OSError(ctypes.get_errno(), f"cannot mount {source} at {at}")


if __name__ == "__main__":
    show(Path(sys.argv[1]), Path(sys.argv[2]))
    os.execv(sys.argv[3], sys.argv[3:])
