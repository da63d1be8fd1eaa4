"""`copies`: one model under several names."""

import argparse
from pathlib import Path

from model_build.build import build
from model_build.commands.arguments import Commands, add_model, add_target, command
from model_build.commands.outcome import Outcome
from model_build.copies import renamed
from model_build.digest import LENGTH
from model_build.progress import Printer
from model_build.save import save
from model_build.timing_cache import FolderTimingCache
from model_build.weights import CACHE


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "copies",
        run,
        summary="build one model, and write it as several archives of different names",
        examples=["copies models/bert --count 3 --target cpu-24.09 --output copies/"],
    )
    add_model(parser)
    add_target(parser)
    parser.add_argument("--count", type=count, required=True, help="how many copies")
    parser.add_argument("--output", type=Path, required=True, help="a folder for the archives")


def count(written: str) -> int:
    """Read a number of copies."""
    number = int(written) if written.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{written!r} is no number of copies: write 1 or more")
    return number


def run(options: argparse.Namespace) -> Outcome:
    """Build once, and pack once for each copy."""
    name, progress = options.model.name, Printer(options.model.name)
    written = []
    timing_cache = FolderTimingCache(CACHE / "timing-caches")
    with build(
        options.model,
        name=name,
        target=options.target,
        progress=progress,
        timing_cache=timing_cache,
    ) as built:
        for number in range(options.count):
            with renamed(built, str(number)) as copy:
                path = options.output / f"{copy.name}-{built.digest[:LENGTH]}.tar.gz"
                save(copy, path, progress=progress)
                written.append(str(path))
    return Outcome(text="\n".join(f"wrote {path}" for path in written), data=written)
