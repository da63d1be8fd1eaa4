import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


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
