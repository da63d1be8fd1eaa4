"""Findings as SARIF 2.1.0, which code hosts show in place in a pull request."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from model_build import checks
from model_build.findings import Finding

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def report(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return a SARIF log of one run; paths are relative to the working directory."""
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "model_build lint",
                        "rules": [_rule(name) for name in sorted({it.rule for it in findings})],
                    }
                },
                "results": [_result(finding) for finding in findings],
            }
        ],
    }


def _rule(name: str) -> dict[str, Any]:
    rules = (*checks.BUILT, *checks.FOR_RELEASE, *checks.FOR_RECIPE)
    explained = {rule.__name__: inspect.getdoc(rule) for rule in rules}
    text = explained.get(name) or "The file is one that can be read."
    return {
        "id": name,
        "shortDescription": {"text": text.partition("\n")[0]},
        "fullDescription": {"text": text},
    }


def _result(finding: Finding) -> dict[str, Any]:
    place = finding.place
    path = place.path.absolute()
    inside = path.is_relative_to(Path.cwd())
    location: dict[str, Any] = {
        "artifactLocation": {
            "uri": quote((path.relative_to(Path.cwd()) if inside else path).as_posix())
        }
    }
    if place.line is not None:
        location["region"] = {"startLine": place.line}
        if place.column is not None:
            location["region"]["startColumn"] = place.column
    return {
        "ruleId": finding.rule,
        "level": "error",
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": location}],
    }
