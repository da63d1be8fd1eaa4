"""Files of a change that review, install or deploy the next change, after the merge."""

from collections.abc import Collection
from fnmatch import fnmatchcase
from importlib.machinery import all_suffixes

PATTERNS = (
    *("*/.gitattributes", "docs/CODEOWNERS", "tools/lint/*", "node_modules/*", "requirements/*"),
    *("constructs/triton_sagemaker/nag.py", "delivery/*", "plan/*", "release/*", "review/*"),
    *("docs/conf.py", "docs/requirements.txt", "tests/distribution/requirements*.txt"),
)
"""Patterns of paths in folders; `*` matches any text.

nag.py acknowledges cdk-nag findings. The files in the last row build the documentation and the
distributions. GitHub reads CODEOWNERS in three folders (GitHub docs, "About code owners"), git
reads .gitattributes in every folder.
"""

DOCUMENTS = ("*.md", "LICENSE")
"""Files at the root that no tool reads. All other files at the root may be settings of npm, pip,
linters and git, or Python modules that are imported in place of installed ones."""

EDITOR_FILES = (".editorconfig", ".github/*.md", ".github/ISSUE_TEMPLATE/*", ".idea/*", ".vscode/*")
"""Files in hidden folders that only people and editors read."""


def affects_next_change(path: str, folders: Collection[str]) -> bool:
    """Return whether a file affects how the next change is reviewed, installed or deployed.

    `folders` are the base's folders at the root. A new folder may be a Python package, a hidden
    folder may have settings of a tool, and modules in constructs/ are imported in place of
    installed modules.
    """
    if any(fnmatchcase(path, pattern) for pattern in EDITOR_FILES):
        return False
    folder, _, below = path.partition("/")
    if not below:
        return not any(fnmatchcase(path, pattern) for pattern in DOCUMENTS)
    if folder.startswith(".") or (folder not in folders and path.endswith(tuple(all_suffixes()))):
        return True
    hides_module = folder == "constructs" and not below.startswith("triton_sagemaker/")
    return hides_module or any(fnmatchcase(path, pattern) for pattern in PATTERNS)
