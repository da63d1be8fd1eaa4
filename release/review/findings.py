"""What the linters say of the two trees: new, fixed, and still there."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from release.tree import SUFFIX, Template, Tree

CHECKOV = Path(".venv-checkov", "bin", "checkov")
"""An environment of its own, below the root: make installs it."""


class LinterFailed(Exception):
    """A linter did not answer with JSON."""


@dataclass(frozen=True, kw_only=True)
class FindingsChange:
    """One line for each finding, by what the change did to it."""

    new: tuple[str, ...]
    fixed: tuple[str, ...]
    still: tuple[str, ...]


NOTHING = FindingsChange(new=(), fixed=(), still=())


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


def model_findings(judge: Tree, before: Tree | None, after: Tree) -> FindingsChange:
    """Return what the model linter of one tree says of the models of both.

    Without a tree before, nothing is new. Raises `LinterFailed`.
    """
    with ThreadPoolExecutor() as pool:
        new = pool.submit(_of_models, judge, after)
        old = pool.submit(_of_models, judge, before) if before else new
        return compare(old.result(), new.result())


def _of_models(judge: Tree, tree: Tree) -> list[str]:
    """Lint models as files: Python looks for the linter in the judging tree alone (-P)."""
    lint = ("-P", "-m", "model_build", "lint", str(tree.models), "--json")
    found = _json(judge, sys.executable, *lint)
    return [
        f"model lint: {os.path.relpath(it['path'], tree.root)}: {it['message']} [{it['rule']}]"
        for it in found
    ]


def template_findings(
    judge: Tree, before: dict[str, Template], after: dict[str, Template]
) -> FindingsChange:
    """Return what cfn-lint and checkov say of templates that differ, by the settings of one tree.

    They are given no metadata: with it, a template could suppress its own findings (cfn-lint,
    "Template based metadata"; checkov, "Suppressing and skipping policies").
    """
    changed = [it for it in before.keys() | after.keys() if before.get(it) != after.get(it)]
    with TemporaryDirectory(prefix="review-lint-") as folder, ThreadPoolExecutor() as pool:
        for side, templates in (("before", before), ("after", after)):
            Path(folder, side).mkdir()
            for stack in templates.keys() & changed:
                Path(folder, side, stack + SUFFIX).write_text(
                    json.dumps(_without_metadata(templates[stack]))
                )
        paths = sorted(map(str, Path(folder).glob(f"*/*{SUFFIX}")))
        settings = ("--config-file", ".checkov.yaml", "--output", "json", "--directory", folder)
        linting = pool.submit(_json, judge, "cfn-lint", "--format", "json", *paths)
        checking = pool.submit(_json, judge, judge.root / CHECKOV, *settings)
        lint, checks = linting.result(), checking.result()
    found: dict[str, list[str]] = {"before": [], "after": []}
    for it in lint:
        side, stack = _place(it["Filename"])
        found[side].append(f"cfn-lint: {stack}: {it['Message']} [{it['Rule']['Id']}]")
    for it in checks.get("results", {}).get("failed_checks", ()):
        side, stack = _place(it["file_path"])
        said = f"{it['resource']}: {it['check_name']} [{it['check_id']}]"
        found[side].append(f"checkov: {stack}, {said}")
    return compare(**found)


def _without_metadata(template: Template) -> Template:
    resources = template.get("Resources", {})
    bare = {
        name: {key: value for key, value in it.items() if key != "Metadata"}
        for name, it in resources.items()
    }
    return {**template, "Metadata": {}, "Resources": bare}


def _json(judge: Tree, program: str | Path, *arguments: str) -> Any:
    """Run a linter in a tree, whose exit code is not 0 where it found something."""
    try:
        finished = subprocess.run(
            [str(program), *arguments],
            cwd=judge.root,
            env=judge.environment,
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
            f"{Path(program).name} ended with exit code {finished.returncode}: "
            f"{finished.stderr.strip()}"
        ) from None


def _place(file: str) -> tuple[str, str]:
    """Return the side and the stack of a template's file."""
    path = Path(file)
    return path.parent.name, path.name.removesuffix(SUFFIX)
