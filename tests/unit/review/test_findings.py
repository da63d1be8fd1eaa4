"""Findings of linters; scripts with their output formats replace the linters."""

import pytest

from release.checkout import GitCheckout
from review.findings import FindingsChange, LinterFailed, template_findings
from tests.unit.review.conftest import write_file

STACK = ("prod", "prod-text")
CFN_LINT = """#!/usr/bin/env python3
import json, sys
files = [path for path in sys.argv if path.endswith(".template.json")]
print(json.dumps([
    {"Filename": path, "Message": message, "Rule": {"Id": "W1"}}
    for path in files for message in json.load(open(path))["Messages"]
]))
"""
CHECKOV = """#!/usr/bin/env python3
import json, pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--directory") + 1])
print(json.dumps({"results": {"failed_checks": [
    {"file_path": path, "resource": "A.B", "check_name": "open", "check_id": "CKV_1"}
    for path in (f"/{file.relative_to(folder)}" for file in folder.glob("after/*/*.template.json"))
]}}))
"""


def test_template_findings(clone: GitCheckout) -> None:
    write_file(clone, "bin/cfn-lint", CFN_LINT)
    write_file(clone, ".venv-checkov/bin/checkov", CHECKOV)
    sides = ({STACK: {"Messages": side}} for side in (["a", "b"], ["b", "c"]))
    assert template_findings(clone, *sides) == {
        "prod": FindingsChange(
            new=("cfn-lint: prod-text: c [W1]", "checkov: prod-text, A.B: open [CKV_1]"),
            fixed=("cfn-lint: prod-text: a [W1]",),
            remaining=("cfn-lint: prod-text: b [W1]",),
        )
    }


def test_template_metadata_is_removed_before_linting(clone: GitCheckout) -> None:
    cfn_lint_metadata = {"cfn-lint": {"config": {"ignore_checks": ["W1"]}}}
    checkov_metadata = {"checkov": {"skip": [{"id": "CKV_1", "comment": "trust me"}]}}
    script = """#!/usr/bin/env python3
import json, sys
print(json.dumps([
    {"Filename": path, "Message": open(path).read(), "Rule": {"Id": "W1"}}
    for path in sys.argv if path.endswith(".template.json")
]))
"""
    write_file(clone, "bin/cfn-lint", script)
    resources = {"Key": {"Type": "AWS::KMS::Key", "Metadata": checkov_metadata}}
    after = {STACK: {"Metadata": cfn_lint_metadata, "Resources": resources}}
    (line,) = template_findings(clone, {}, after)["prod"].new
    assert "AWS::KMS::Key" in line
    assert "ignore_checks" not in line
    assert "skip" not in line


def test_checkov_output_without_results(clone: GitCheckout) -> None:
    write_file(clone, ".venv-checkov/bin/checkov", "#!/bin/sh\necho '{\"passed\": 0}'\n")
    assert template_findings(clone, {}, {STACK: {}}) == {}


def test_missing_linter(clone: GitCheckout) -> None:
    (clone.root / ".venv-checkov" / "bin" / "checkov").unlink()
    with pytest.raises(LinterFailed, match="checkov is not installed: run `make review`"):
        template_findings(clone, {}, {STACK: {}})


def test_unchanged_templates_are_not_linted(clone: GitCheckout) -> None:
    write_file(clone, "bin/cfn-lint", CFN_LINT)
    write_file(clone, ".venv-checkov/bin/checkov", CHECKOV)
    same_template, changed_template = {"Messages": ["a"]}, {"Messages": ["b"]}
    before, after = (
        {("prod", "prod-a"): same_template, ("prod", "prod-b"): template}
        for template in (same_template, changed_template)
    )
    change = template_findings(clone, before, after)["prod"]
    assert change.remaining == ()
    assert all("prod-b" in line for line in (*change.new, *change.fixed))
