"""What the linters say of the two trees: new, fixed, and still there."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from release.review.templates import Template, Tree

CHECKOV = Path(".venv-checkov", "bin", "checkov")
"""An environment of its own, below the root: make installs it."""


class LinterFailed(Exception):
    """A linter said nothing that can be read."""


@dataclass(frozen=True, kw_only=True)
class FindingsChange:
    """One line for each finding, by what the change did to it."""

    new: tuple[str, ...]
    fixed: tuple[str, ...]
    still: tuple[str, ...]


def compare(before: Iterable[str], after: Iterable[str]) -> FindingsChange:
    """Compare findings as texts: what moved to another line is neither new nor fixed."""
    old, new = Counter(before), Counter(after)
    return FindingsChange(
        new=tuple(sorted((new - old).elements())),
        fixed=tuple(sorted((old - new).elements())),
        still=tuple(sorted((old & new).elements())),
    )


def joined(changes: Iterable[FindingsChange]) -> FindingsChange:
    """Return the findings of several reviews as one."""
    every = list(changes)
    return FindingsChange(
        new=tuple(line for it in every for line in it.new),
        fixed=tuple(line for it in every for line in it.fixed),
        still=tuple(line for it in every for line in it.still),
    )


def model_findings(tree: Tree, *, may_fail: bool = False) -> list[str]:
    """Return what a tree's own model linter says of its models.

    With `may_fail`, a tree from before the linter has none. Raises `LinterFailed`.
    """
    environment = {"PYTHONPATH": str(tree.root), "PYTHONDONTWRITEBYTECODE": "1"}
    lint = ("-m", "model_build", "lint", "models", "--json")
    try:
        found = _json(sys.executable, *lint, root=tree.root, **environment)
    except LinterFailed:
        if not may_fail:
            raise
        return []
    return [f"model lint: {it['path']}: {it['message']} [{it['rule']}]" for it in found]


def template_findings(root: Path, templates: dict[str, Template]) -> list[str]:
    """Return what cfn-lint and checkov say of templates, by the settings in `root`."""
    if not templates:
        return []
    with TemporaryDirectory(prefix="review-lint-") as folder:
        for stack, template in templates.items():
            Path(folder, f"{stack}.template.json").write_text(json.dumps(template))
        paths = sorted(map(str, Path(folder).iterdir()))
        lint = _json("cfn-lint", "--format", "json", *paths, root=root)
        settings = ("--config-file", ".checkov.yaml", "--output", "json")
        checks = _json(root / CHECKOV, *settings, "--directory", folder, root=root)
    return [
        f"cfn-lint: {_stack(it['Filename'])}: {it['Message']} [{it['Rule']['Id']}]" for it in lint
    ] + [
        f"checkov: {_stack(it['file_path'])}, {it['resource']}: "
        f"{it['check_name']} [{it['check_id']}]"
        for it in checks.get("results", {}).get("failed_checks", ())
    ]


def _json(program: str | Path, *arguments: str, root: Path, **environment: str) -> Any:
    """Run a linter, which ends with other codes than 0 where it found something."""
    try:
        finished = subprocess.run(
            [str(program), *arguments],
            cwd=root,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise LinterFailed(f"{program} is not there: `make review` installs it") from None
    try:
        return json.loads(finished.stdout)
    except ValueError:
        raise LinterFailed(
            f"{Path(program).name} ended with {finished.returncode}: {finished.stderr.strip()}"
        ) from None


def _stack(file: str) -> str:
    return Path(file).name.removesuffix(".template.json")
