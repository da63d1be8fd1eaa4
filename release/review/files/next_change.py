"""Files that review, install or deploy the next change, because the base reviews only this one."""

from collections.abc import Collection
from fnmatch import fnmatchcase
from importlib.machinery import all_suffixes

PATTERNS = (
    *("*/.gitattributes", "docs/CODEOWNERS", "lint/*", "node_modules/*", "requirements/*"),
    *("constructs/triton_sagemaker/nag.py", "release/*"),
    *("docs/conf.py", "docs/requirements.txt", "tests/distribution/requirements*.txt"),
)
"""Patterns of paths in folders; `*` matches any text. nag.py acknowledges cdk-nag findings. The
last line has the files that build the documentation and the distributions. GitHub reads CODEOWNERS
in three folders (GitHub docs, "About code owners"), git reads .gitattributes in all."""

DOCUMENTS = ("*.md", "LICENSE")
"""Files at the root that no tool reads. All others may be settings of npm, pip, linters and git, or
modules that hide installed ones."""

EDITORS = (".editorconfig", ".github/*.md", ".github/ISSUE_TEMPLATE/*", ".idea/*", ".vscode/*")
"""Hidden files for people and editors."""


def affects_next_change(path: str, folders: Collection[str]) -> bool:
    """Return whether a file affects how the next change is reviewed, installed or deployed.

    `folders` are the base's folders at the root. A new folder may be a Python package, and a hidden
    one may have settings of a tool. Modules in constructs/ hide installed ones.
    """
    if any(fnmatchcase(path, pattern) for pattern in EDITORS):
        return False
    folder, _, below = path.partition("/")
    if not below:
        return not any(fnmatchcase(path, pattern) for pattern in DOCUMENTS)
    if folder.startswith(".") or (folder not in folders and path.endswith(tuple(all_suffixes()))):
        return True
    hides_module = folder == "constructs" and not below.startswith("triton_sagemaker/")
    return hides_module or any(fnmatchcase(path, pattern) for pattern in PATTERNS)
