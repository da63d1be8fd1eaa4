"""Linters that run before and after a change, and the comparison of their findings."""

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

from release.checkout import Checkout
from release.templates import SUFFIX, Template

CHECKOV = Path(".venv-checkov", "bin", "checkov")
"""checkov has its own virtual environment, which `make` installs."""

Templates = Mapping[tuple[str, str], Template]
"""Stage and stack -> template."""


class LinterFailed(Exception):
    """A linter is missing, or its output is not JSON."""


@dataclass(frozen=True, kw_only=True)
class FindingsChange:
    """New, fixed and remaining findings, one line each."""

    new: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()


NO_FINDINGS = FindingsChange()


def compare_findings(before: Iterable[str], after: Iterable[str]) -> FindingsChange:
    """Return the change of findings, compared as texts without line numbers."""
    old, new = Counter(before), Counter(after)
    return FindingsChange(
        new=tuple(sorted((new - old).elements())),
        fixed=tuple(sorted((old - new).elements())),
        remaining=tuple(sorted((old & new).elements())),
    )


def join_findings(changes: Iterable[FindingsChange]) -> FindingsChange:
    """Return one change with the findings of all `changes`."""
    all_changes = list(changes)
    return FindingsChange(
        new=tuple(line for change in all_changes for line in change.new),
        fixed=tuple(line for change in all_changes for line in change.fixed),
        remaining=tuple(line for change in all_changes for line in change.remaining),
    )


def model_findings(base: Checkout, head: Checkout) -> FindingsChange:
    """Return the change of findings in the models, by the base's linter. Raise `LinterFailed`."""
    with ThreadPoolExecutor() as pool:
        return compare_findings(*pool.map(partial(_lint_models, base), (base, head)))


def _lint_models(linter_tree: Checkout, tree: Checkout) -> list[str]:
    """Return the findings of the linter of the tree `linter_tree` in the models of `tree`.

    Without -P, Python would search the working directory for modules first.
    """
    lint = ("-P", "-m", "model_build", "lint", str(tree.models), "--json")
    return [
        f"model lint: {os.path.relpath(finding['path'], tree.root)}: {finding['message']} "
        f"[{finding['rule']}]"
        for finding in _run_linter(linter_tree, sys.executable, *lint)
    ]


def template_findings(
    linter_tree: Checkout, before: Templates, after: Templates
) -> dict[str, FindingsChange]:
    """Return stage -> findings of cfn-lint and checkov in changed templates.

    Both linters run once for all stages, with the settings of the tree `linter_tree`. Templates are
    linted without metadata, because metadata can suppress findings (cfn-lint, "Template based
    metadata"; checkov, "Suppressing and skipping policies"). Raise `LinterFailed`.
    """
    stacks = before.keys() | after.keys()
    changed_stacks = {stack for stack in stacks if before.get(stack) != after.get(stack)}
    if not changed_stacks:
        return {}
    with TemporaryDirectory(prefix="review-lint-") as folder, ThreadPoolExecutor() as pool:
        for side, templates in (("before", before), ("after", after)):
            for stage, stack in templates.keys() & changed_stacks:
                path = Path(folder, side, stage, stack + SUFFIX)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(_without_metadata(templates[stage, stack])))
        paths = sorted(map(str, Path(folder).glob(f"*/*/*{SUFFIX}")))
        options = ("--config-file", ".checkov.yaml", "--output", "json", "--directory", folder)
        cfn_lint = pool.submit(_run_linter, linter_tree, "cfn-lint", "--format", "json", *paths)
        checkov = pool.submit(_run_linter, linter_tree, linter_tree.root / CHECKOV, *options)
        cfn_lint_findings, checkov_report = cfn_lint.result(), checkov.result()
    lines: dict[tuple[str, str], list[str]] = {}
    for finding in cfn_lint_findings:
        side, stage, stack = _location(finding["Filename"])
        line = f"cfn-lint: {stack}: {finding['Message']} [{finding['Rule']['Id']}]"
        lines.setdefault((side, stage), []).append(line)
    for check in checkov_report.get("results", {}).get("failed_checks", ()):
        side, stage, stack = _location(check["file_path"])
        text = f"{check['resource']}: {check['check_name']} [{check['check_id']}]"
        lines.setdefault((side, stage), []).append(f"checkov: {stack}, {text}")
    return {
        stage: compare_findings(lines.get(("before", stage), ()), lines.get(("after", stage), ()))
        for _, stage in lines
    }


def _without_metadata(template: Template) -> Template:
    resources = template.get("Resources", {})
    without_metadata = {
        name: {key: value for key, value in resource.items() if key != "Metadata"}
        for name, resource in resources.items()
    }
    return {**template, "Metadata": {}, "Resources": without_metadata}


def _run_linter(linter_tree: Checkout, program: str | Path, *arguments: str) -> Any:
    """Return the JSON output of a linter. Raise `LinterFailed` if there is none.

    The exit code is ignored, because it is not 0 if there are findings.
    """
    try:
        finished = subprocess.run(
            [str(program), *arguments],
            cwd=linter_tree.root,
            env=linter_tree.environment,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise LinterFailed(f"{program} is not installed: run `make review`") from None
    try:
        return json.loads(finished.stdout)
    except ValueError:
        raise LinterFailed(
            f"{Path(program).name} ended with exit code {finished.returncode}: "
            f"{finished.stderr.strip()}"
        ) from None


def _location(file: str) -> tuple[str, str, str]:
    """Return side (before or after), stage and stack from the path of a template file."""
    side, stage, name = Path(file).parts[-3:]
    return side, stage, name.removesuffix(SUFFIX)
