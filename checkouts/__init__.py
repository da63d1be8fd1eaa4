"""This git repository: its commits checked out beside it, and the app that each of them has."""

from checkouts._git import CheckoutError, git, repository_root, worktree
from checkouts._tree import Stage, import_path, stage_file, templates

__all__ = [
    "CheckoutError",
    "Stage",
    "git",
    "import_path",
    "repository_root",
    "stage_file",
    "templates",
    "worktree",
]
