"""What a build does right now."""

import os
from pathlib import Path

TAIL_BYTES = 4096


def newest_line(builds: Path) -> str:
    """Return the last line that the newest build in a folder of builds has printed.

    What CodeBuild's own agent says is left out. Nothing where no build has printed yet.
    """
    logs = sorted(builds.glob("*/build.log"), key=lambda it: it.stat().st_mtime)
    if not logs:
        return ""
    with logs[-1].open("rb") as log:
        log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES))
        lines = log.read().decode(errors="replace").splitlines()
    own = [it for it in lines if it.strip() and not it.startswith("[Container] ")]
    return own[-1].strip() if own else ""
