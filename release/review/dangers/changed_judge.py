"""Files that judge, install or deploy the next change."""

import hashlib
from collections.abc import Iterator
from fnmatch import fnmatchcase

from release.review.dangers.found import Found
from release.tree import Tree

JUDGE = (
    *(".cfnlintrc*", ".checkov.y*ml", ".ci/*", ".github/*", ".gitattributes", ".gitignore"),
    *(".venv*", "CODEOWNERS", "docs/CODEOWNERS", "Makefile", "cdk.json", "node_modules/*"),
    *("package.json", "package-lock.json", "pyproject.toml", "release/*", "requirements*"),
    *("constructs/triton_sagemaker/nag.py", "tritonsm"),
)
"""Patterns of paths; `*` is anything below. Modules beside app.py are added to these: Python finds
them before the installed packages. app.py runs cdk-nag, and nag.py acknowledges its findings: a
review lists those that constructs and stacks hand to it. GitHub reads CODEOWNERS in three folders
(GitHub docs, "About code owners")."""

ACKNOWLEDGEMENTS = "release/acknowledged.yaml"


def changed_judge(before: Tree, after: Tree) -> Iterator[Found]:
    """What judges a change is another after it: the base judges this one, and not the next.

    A change of acknowledgements that changes nothing else has nothing to approve: it is the file's
    owners that approve it, and none of it counts before it is merged.
    """
    old, new = before.files(), after.files("--others", "--exclude-standard")
    changed = sorted(it for it in old.keys() | new.keys() if old.get(it) != new.get(it))
    for path in changed if changed != [ACKNOWLEDGEMENTS] else ():
        module = path.endswith(".py") and "/" not in path
        if module or any(fnmatchcase(path, it) for it in JUDGE):
            yield _found(path, new.get(path))


def _found(path: str, content: bytes | None) -> Found:
    digest = "deleted" if content is None else hashlib.sha256(content).hexdigest()
    return Found(
        f"{path}.{digest}",
        f"{path} judges, installs or deploys the next change: {digest}",
        group="files",
        heading="{count} files change that judge, install or deploy the next change",
    )
