"""The packages that a tree's app runs with: those that its own requirements.txt pins.

What is installed is what the head pins. Where the base pins another version of a package that its
app loads, that version is installed beside, and comes first when the base's app runs: templates are
compared with templates as each side makes them. Which packages an app loads, it says itself.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import distributions, packages_distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import Specifier

from release.tree import NotSynthesised, Tree

PROGRAM = Path(__file__).with_name("recorded_app.py")

ALWAYS = frozenset({"aws-cdk-lib", "cdk-nag", "constructs", "jsii"})
"""What every app of the CDK loads here: these need not be asked for."""

KEPT = 2
"""Folders of packages; aws-cdk-lib alone is 236 MB."""

_INSTALLING = Lock()


def synthesise(tree: Tree, stage: str, *, to: Path, kept: Path) -> None:
    """Write the assembly of a stage with the packages that the tree pins, kept in a folder.

    Raises `NotSynthesised`, also where they cannot be installed.
    """
    pinned, installed = pins(tree), _installed()
    others = {name for name, version in pinned.items() if not _fits(installed.get(name), version)}
    if not others:
        tree.synthesise(stage, to=to)
        return
    wanted = others & ALWAYS
    with TemporaryDirectory(prefix="review-loaded-") as scratch:
        loaded = Path(scratch, "loaded.json")
        while True:
            packages = install({it: pinned[it] for it in _whole(wanted) & pinned.keys()}, kept)
            program = (str(PROGRAM), str(loaded))
            failure = None
            try:
                tree.synthesise(stage, to=to, program=program, packages=packages)
            except NotSynthesised as error:
                failure = error
            more = (others & _providers(loaded)) - wanted
            if failure and not more:
                more = others - installed.keys() - wanted  # what was removed since, if it is that
            if not more:
                break
            wanted |= more
    if failure:
        raise failure


def pins(tree: Tree) -> dict[str, str]:
    """Return package -> version, of those lines of requirements.txt that count for this Python."""
    path = tree.root / "requirements.txt"
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            requirement = Requirement(line.partition("#")[0].strip())
        except InvalidRequirement:
            continue  # a comment, or an option
        versions = list(requirement.specifier)
        applies = requirement.marker is None or requirement.marker.evaluate()
        if applies and len(versions) == 1 and versions[0].operator == "==":
            found[_normal(requirement.name)] = versions[0].version
    return found


def install(wanted: Mapping[str, str], kept: Path) -> Path | None:
    """Return a folder with exactly these packages, None without any. Raises `NotSynthesised`."""
    if not wanted:
        return None
    lines = [f"{name}=={version}" for name, version in sorted(wanted.items())]
    named = hashlib.sha256("\n".join([sys.version, *lines]).encode()).hexdigest()[:12]
    folder = kept / named
    with _INSTALLING:
        if not folder.is_dir():
            kept.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=kept, prefix=".installing-") as scratch:
                _pip(lines, to=Path(scratch, named))
                Path(scratch, named).rename(folder)
        folder.touch()
        by_use = sorted(kept.glob("[!.]*"), key=lambda it: it.stat().st_mtime, reverse=True)
        for old in by_use[KEPT:]:
            shutil.rmtree(old)
    return folder


def _pip(lines: list[str], *, to: Path) -> None:
    """Let pip install packages and not what they need: the lock has that. Raises as `install`."""
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile")
    finished = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(to), *lines],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode:
        said = [it for it in finished.stderr.splitlines() if it.startswith("ERROR:")]
        raise NotSynthesised(
            f"its requirements.txt pins {', '.join(lines)}, other versions than those installed, "
            f"and pip cannot install them: {' '.join(said) or finished.stderr.strip()}"
        )


def _whole(names: set[str]) -> set[str]:
    """Return packages with those that share a module with them: Python looks in one folder."""
    shared = [{_normal(it) for it in sharing} for sharing in packages_distributions().values()]
    return names.union(*(sharing for sharing in shared if sharing & names))


def _providers(loaded: Path) -> set[str]:
    """Return the packages, of those installed, that the modules in a file are of."""
    if not loaded.is_file():
        return set()
    modules = json.loads(loaded.read_text())
    known = packages_distributions()
    return {_normal(name) for module in modules for name in known.get(module, ())}


def _installed() -> dict[str, str]:
    return {_normal(it.name): it.version for it in distributions()}


def _fits(version: str | None, pinned: str) -> bool:
    """Whether pip leaves a version as it is: a local label, as of 2.13.0+cpu, does not count.

    Source: PEP 440, "Version matching".
    """
    return version is not None and Specifier(f"=={pinned}").contains(version, prereleases=True)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
