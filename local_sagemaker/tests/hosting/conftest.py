"""Archives and the process ID of a fake server."""

import io
import tarfile
from pathlib import Path


def server_pid(folder: Path) -> int:
    """Return the process ID of the fake server, or 0 before the server has written it."""
    path = folder / "pid"
    return int(path.read_text() or 0) if path.exists() else 0


def tar_gz(files: dict[str, bytes], *, mode: str = "w:gz") -> bytes:
    """Return an archive with these member names and contents."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return content.getvalue()
