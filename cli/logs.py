"""What the local AWS says, or Triton in the instances of an endpoint, or a build.

Of a stage on AWS: aws logs tail /aws/sagemaker/Endpoints/NAME --follow
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from cli.errors import CommandError, exit_code
from local_aws.folder import Folder
from model_build.commands.arguments import Commands

LINES = 40
PAUSE_SECONDS = 0.2


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "logs",
        description=__doc__,
        epilog="examples:\n  tritonsm logs\n  tritonsm logs local-text --follow\n"
        "  tritonsm logs builds",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name",
        nargs="?",
        metavar="ENDPOINT",
        help="an endpoint, such as local-text, or `builds`; default: the local AWS itself",
    )
    parser.add_argument("--follow", action="store_true", help="go on until Ctrl-C")
    parser.add_argument(
        "--lines", type=int, default=LINES, metavar="N", help=f"the last N; default: {LINES}"
    )
    parser.set_defaults(run=partial(exit_code, run))


def run(options: argparse.Namespace) -> int:
    """Print the ends of logs; return the exit code."""
    found = _logs(Folder.default(), options.name)
    places = {path: _tail(path, options.lines, named=len(found) > 1) for path in found}
    while options.follow:
        sys.stdout.flush()
        time.sleep(PAUSE_SECONDS)
        places = {path: _rest(path, place) for path, place in places.items()}
    return 0


def _logs(folder: Folder, name: str | None) -> list[Path]:
    """Return the files, oldest first. Raises `CommandError` with the names that there are."""
    endpoints = _newest_last(folder.instances.glob("*/triton.log"))
    builds = _newest_last(folder.builds.glob("*/build.log"))
    if name is None:
        found = [folder.log] if folder.log.exists() else []
    elif name == "builds":
        found = builds
    else:
        found = [it for it in endpoints if it.parent.name.startswith(f"{name}-")]
    if found:
        return found
    known = sorted({it.parent.name.rsplit("-", 2)[0] for it in endpoints})
    known += ["builds"] if builds else []
    what = f"of {name} " if name else ""
    raise CommandError(
        f"there is no log {what}on the local AWS: there are {', '.join(known) or 'none'}"
    )


def _newest_last(paths: Iterable[Path]) -> list[Path]:
    changed: Callable[[Path], float] = lambda path: path.stat().st_mtime  # noqa: E731
    return sorted(paths, key=changed)


def _tail(path: Path, lines: int, *, named: bool) -> int:
    """Print the last lines of a log; return how many bytes are printed."""
    content = path.read_bytes()
    if named:
        print(f"==> {path} <==")
    shown = content.decode(errors="replace").splitlines()[-lines:] if lines > 0 else []
    for line in shown:
        print(line)
    return len(content)


def _rest(path: Path, place: int) -> int:
    if not path.exists():
        return place
    with path.open("rb") as log:
        log.seek(place)
        content = log.read()
    print(content.decode(errors="replace"), end="")
    return place + len(content)
