"""Files that judge, install or deploy the next change."""

import hashlib
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from importlib.machinery import all_suffixes

from release.review.dangers.found import Found
from release.tree import Tree

JUDGE = (
    *("*/.gitattributes", "docs/CODEOWNERS", "lint/*", "node_modules/*"),
    *("constructs/triton_sagemaker/nag.py", "release/*"),
)
"""Patterns of paths below the root; `*` is anything. nag.py acknowledges cdk-nag's findings.
GitHub reads CODEOWNERS in three folders (GitHub docs, "About code owners"), and git attributes in
all."""

DOCUMENTS = ("*.md", "LICENSE")
"""Files at the root that no tool obeys. All others may: settings of npm, pip, linters and git, and
modules and packages, which Python finds there before the installed ones."""

ACKNOWLEDGEMENTS = "release/acknowledged.yaml"


def changed_judge(before: Tree, after: Tree) -> Iterator[Found]:
    """What judges a change is another after it: the base judges this one, and not the next.

    A change of acknowledgements that changes nothing else has nothing to approve: it is the file's
    owners that approve it, and none of it counts before it is merged.
    """
    old, new = before.files(), after.files("--others", "--exclude-standard")
    changed = sorted(it for it in old.keys() | new.keys() if old.get(it) != new.get(it))
    folders = {name.partition("/")[0] for name in old}
    for path in changed if changed != [ACKNOWLEDGEMENTS] else ():
        if judges(path, folders):
            yield _found(path, new.get(path))


def judges(path: str, folders: Collection[str]) -> bool:
    """Whether a file decides how the next change is judged, installed or deployed.

    `folders` are those at the root that are known: one more may be a package to Python, and a
    hidden one has a tool's settings. Apps of trees find first what lies in constructs/ beside the
    library.
    """
    folder, _, below = path.partition("/")
    if not below:
        return not any(fnmatchcase(path, pattern) for pattern in DOCUMENTS)
    if folder.startswith(".") or (folder not in folders and path.endswith(tuple(all_suffixes()))):
        return True
    is_beside = folder == "constructs" and not below.startswith("triton_sagemaker/")
    return is_beside or any(fnmatchcase(path, pattern) for pattern in JUDGE)


def _found(path: str, content: bytes | None) -> Found:
    digest = "deleted" if content is None else hashlib.sha256(content).hexdigest()
    return Found(
        f"{path}.{digest}",
        f"{path} judges, installs or deploys the next change: {digest}",
        group="files",
        heading="{count} files change that judge, install or deploy the next change",
    )
