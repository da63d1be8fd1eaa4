"""This git repository: its commits checked out beside it, and the app that each of them has."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

SUFFIX = ".template.json"


class CheckoutError(Exception):
    """Git refused, or a tree lacks a stage, and the message says which."""


def git(folder: Path, *arguments: str) -> str:
    """Return what a git command prints. Raises `CheckoutError` with what it says instead."""
    finished = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if finished.returncode:
        raise CheckoutError(f"git {' '.join(arguments)}: {finished.stderr.strip()}")
    return finished.stdout.strip()


def repository_root() -> Path:
    """Return the root of the repository around the working directory. Raises `CheckoutError`."""
    return Path(git(Path.cwd(), "rev-parse", "--show-toplevel"))


@contextmanager
def worktree(repository: Path, commit: str) -> Iterator[Path]:
    """Check a commit out beside the repository, for the length of the `with` block.

    Raises `CheckoutError` where the clone does not have it.
    """
    with TemporaryDirectory(prefix="checkout-") as folder:
        root = Path(folder).resolve() / "tree"
        git(repository, "worktree", "add", "--detach", str(root), commit)
        try:
            yield root
        finally:
            git(repository, "worktree", "remove", "--force", str(root))


@dataclass(frozen=True)
class Stage:
    """The little of a stage's YAML that is not in its templates."""

    region: str
    production: bool


def stage_file(root: Path, stage: str) -> Stage:
    """Read a tree's stage. Raises `CheckoutError` where there is none of this name, or no region.

    Everything else in the file is the app's to check.
    """
    path = root / "stages" / f"{stage}.yaml"
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Stage(str(content["region"]), bool(content.get("production")))
    except FileNotFoundError:
        raise CheckoutError(f"there is no stages/{stage}.yaml") from None
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise CheckoutError(f"stages/{stage}.yaml has no region: {error}") from None


def import_path(root: Path) -> str:
    """Return the PYTHONPATH that lets a tree's own packages come before the installed ones."""
    return os.pathsep.join([str(root), str(root / "constructs")])


def templates(assembly: Path) -> dict[str, Any]:
    """Return stack name -> template, out of the cloud assembly in a folder."""
    return {
        path.name.removesuffix(SUFFIX): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(assembly.glob(f"*{SUFFIX}"))
    }
