"""Files that judge, install or deploy the next change: the base judges this one, not the next."""

from collections.abc import Collection
from fnmatch import fnmatchcase
from importlib.machinery import all_suffixes

JUDGES = (
    *("*/.gitattributes", "docs/CODEOWNERS", "lint/*", "node_modules/*"),
    *("constructs/triton_sagemaker/nag.py", "release/*"),
)
"""Patterns of paths below the root; `*` is anything. nag.py acknowledges cdk-nag's findings.
GitHub reads CODEOWNERS in three folders (GitHub docs, "About code owners"), and git attributes in
all."""

DOCUMENTS = ("*.md", "LICENSE")
"""Files at the root that no tool obeys. All others may: settings of npm, pip, linters and git, and
modules and packages, which Python finds there before the installed ones."""

EDITORS = (".editorconfig", ".github/*.md", ".github/ISSUE_TEMPLATE/*", ".idea/*", ".vscode/*")
"""Hidden files for people and their editors."""


def judges(path: str, folders: Collection[str]) -> bool:
    """Whether a file decides how the next change is judged, installed or deployed.

    `folders` are those at the root that are known: one more may be a package to Python, and a
    hidden one has a tool's settings. Apps of trees find first what lies in constructs/ beside the
    library.
    """
    if any(fnmatchcase(path, pattern) for pattern in EDITORS):
        return False
    folder, _, below = path.partition("/")
    if not below:
        return not any(fnmatchcase(path, pattern) for pattern in DOCUMENTS)
    if folder.startswith(".") or (folder not in folders and path.endswith(tuple(all_suffixes()))):
        return True
    is_beside = folder == "constructs" and not below.startswith("triton_sagemaker/")
    return is_beside or any(fnmatchcase(path, pattern) for pattern in JUDGES)
