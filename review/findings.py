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

from review.templates import Template, Tree


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


def model_findings(tree: Tree) -> list[str]:
    """Return what a tree's own model linter says of its models."""
    finished = subprocess.run(
        [sys.executable, "-m", "model_build", "lint", "models", "--json"],
        cwd=tree.root,
        env={**os.environ, "PYTHONPATH": str(tree.root), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found = json.loads(finished.stdout)
    except ValueError:
        return []  # a tree from before the linter
    return [f"model lint: {it['path']}: {it['message']} [{it['rule']}]" for it in found]


def template_findings(stage: str, templates: dict[str, Template]) -> list[str]:
    """Return what cfn-lint says of a stage's templates."""
    with TemporaryDirectory(prefix="review-lint-") as folder:
        paths = []
        for stack, template in templates.items():
            paths.append(Path(folder, f"{stack}.template.json"))
            paths[-1].write_text(json.dumps(template))
        if not paths:
            return []
        finished = subprocess.run(
            ["cfn-lint", "--format", "json", *map(str, paths)],
            capture_output=True,
            text=True,
            check=False,
        )
    return [
        f"cfn-lint: {stage}: {Path(it['Filename']).name}: {it['Message']} [{it['Rule']['Id']}]"
        for it in json.loads(finished.stdout or "[]")
    ]
