"""Run linters on both sides of a change and compare their findings."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from release.tree import SUFFIX, Template, Tree

CHECKOV = Path(".venv-checkov", "bin", "checkov")
"""checkov has its own virtual environment, which make installs."""

Templates = Mapping[tuple[str, str], Template]
"""Stage and stack -> template."""


class LinterFailed(Exception):
    """A linter that is missing, or whose output is not JSON."""


@dataclass(frozen=True, kw_only=True)
class FindingsChange:
    """New, fixed and remaining findings, one line each."""

    new: tuple[str, ...]
    fixed: tuple[str, ...]
    still: tuple[str, ...]


NOTHING = FindingsChange(new=(), fixed=(), still=())


def compare(before: Iterable[str], after: Iterable[str]) -> FindingsChange:
    """Return the comparison of findings as texts, without regard to their line numbers."""
    old, new = Counter(before), Counter(after)
    return FindingsChange(
        new=tuple(sorted((new - old).elements())),
        fixed=tuple(sorted((old - new).elements())),
        still=tuple(sorted((old & new).elements())),
    )


def joined(changes: Iterable[FindingsChange]) -> FindingsChange:
    """Return several comparisons as one."""
    every = list(changes)
    return FindingsChange(
        new=tuple(line for change in every for line in change.new),
        fixed=tuple(line for change in every for line in change.fixed),
        still=tuple(line for change in every for line in change.still),
    )


def model_findings(base: Tree, head: Tree) -> FindingsChange:
    """Return the findings of the base's model linter in both trees. Raise `LinterFailed`."""
    with ThreadPoolExecutor() as pool:
        return compare(*pool.map(partial(_of_models, base), (base, head)))


def _of_models(judge: Tree, tree: Tree) -> list[str]:
    """Return the findings in a tree's models; with -P, the linter is that of `judge` alone."""
    lint = ("-P", "-m", "model_build", "lint", str(tree.models), "--json")
    return [
        f"model lint: {os.path.relpath(finding['path'], tree.root)}: {finding['message']} "
        f"[{finding['rule']}]"
        for finding in _json(judge, sys.executable, *lint)
    ]


def template_findings(
    judge: Tree, before: Templates, after: Templates
) -> dict[str, FindingsChange]:
    """Return stage -> findings of cfn-lint and checkov in templates that differ.

    Both run once for all stages, with the settings of the tree `judge`. Templates are linted
    without metadata, with which they could suppress findings (cfn-lint, "Template based metadata";
    checkov, "Suppressing and skipping policies"). Raise `LinterFailed`.
    """
    places = before.keys() | after.keys()
    changed = {place for place in places if before.get(place) != after.get(place)}
    if not changed:
        return {}
    with TemporaryDirectory(prefix="review-lint-") as folder, ThreadPoolExecutor() as pool:
        for side, templates in (("before", before), ("after", after)):
            for stage, stack in templates.keys() & changed:
                path = Path(folder, side, stage, stack + SUFFIX)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(_without_metadata(templates[stage, stack])))
        paths = sorted(map(str, Path(folder).glob(f"*/*/*{SUFFIX}")))
        settings = ("--config-file", ".checkov.yaml", "--output", "json", "--directory", folder)
        linting = pool.submit(_json, judge, "cfn-lint", "--format", "json", *paths)
        checking = pool.submit(_json, judge, judge.root / CHECKOV, *settings)
        lint, checks = linting.result(), checking.result()
    lines: dict[tuple[str, str], list[str]] = {}
    for finding in lint:
        side, stage, stack = _place(finding["Filename"])
        line = f"cfn-lint: {stack}: {finding['Message']} [{finding['Rule']['Id']}]"
        lines.setdefault((side, stage), []).append(line)
    for check in checks.get("results", {}).get("failed_checks", ()):
        side, stage, stack = _place(check["file_path"])
        text = f"{check['resource']}: {check['check_name']} [{check['check_id']}]"
        lines.setdefault((side, stage), []).append(f"checkov: {stack}, {text}")
    return {
        stage: compare(lines.get(("before", stage), ()), lines.get(("after", stage), ()))
        for _, stage in lines
    }


def _without_metadata(template: Template) -> Template:
    resources = template.get("Resources", {})
    bare = {
        name: {key: value for key, value in resource.items() if key != "Metadata"}
        for name, resource in resources.items()
    }
    return {**template, "Metadata": {}, "Resources": bare}


def _json(judge: Tree, program: str | Path, *arguments: str) -> Any:
    """Return the JSON output of a linter; with findings, its exit code is not 0."""
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


def _place(file: str) -> tuple[str, str, str]:
    """Return side, stage and stack of a template's file."""
    side, stage, name = Path(file).parts[-3:]
    return side, stage, name.removesuffix(SUFFIX)
