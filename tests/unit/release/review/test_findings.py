"""Findings of linters, which are scripts with the output formats of the real ones."""

import pytest

from release.checkouts import Clone
from release.review.findings import FindingsChange, LinterFailed, model_findings, template_findings
from tests.unit.release.conftest import commit
from tests.unit.release.review.conftest import write_file

TEXT = ("prod", "prod-text")
CFN_LINT = """#!/usr/bin/env python3
import json, sys
files = [it for it in sys.argv if it.endswith(".template.json")]
print(json.dumps([
    {"Filename": it, "Message": message, "Rule": {"Id": "W1"}}
    for it in files for message in json.load(open(it))["Messages"]
]))
"""
CHECKOV = """#!/usr/bin/env python3
import json, pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--directory") + 1])
print(json.dumps({"results": {"failed_checks": [
    {"file_path": path, "resource": "A.B", "check_name": "open", "check_id": "CKV_1"}
    for path in (f"/{it.relative_to(folder)}" for it in folder.glob("after/*/*.template.json"))
]}}))
"""


def test_template_findings(clone: Clone) -> None:
    write_file(clone, "bin/cfn-lint", CFN_LINT)
    write_file(clone, ".venv-checkov/bin/checkov", CHECKOV)
    sides = ({TEXT: {"Messages": side}} for side in (["a", "b"], ["b", "c"]))
    assert template_findings(clone, *sides) == {
        "prod": FindingsChange(
            new=("cfn-lint: prod-text: c [W1]", "checkov: prod-text, A.B: open [CKV_1]"),
            fixed=("cfn-lint: prod-text: a [W1]",),
            remaining=("cfn-lint: prod-text: b [W1]",),
        )
    }


def test_template_metadata_is_removed_before_linting(clone: Clone) -> None:
    silent = {"cfn-lint": {"config": {"ignore_checks": ["W1"]}}}
    skipped = {"checkov": {"skip": [{"id": "CKV_1", "comment": "trust me"}]}}
    script = """#!/usr/bin/env python3
import json, sys
print(json.dumps([
    {"Filename": it, "Message": open(it).read(), "Rule": {"Id": "W1"}}
    for it in sys.argv if it.endswith(".template.json")
]))
"""
    write_file(clone, "bin/cfn-lint", script)
    resources = {"Key": {"Type": "AWS::KMS::Key", "Metadata": skipped}}
    after = {TEXT: {"Metadata": silent, "Resources": resources}}
    (line,) = template_findings(clone, {}, after)["prod"].new
    assert "AWS::KMS::Key" in line
    assert "ignore_checks" not in line
    assert "skip" not in line


def test_linters_get_no_credentials(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    write_file(clone, "bin/cfn-lint", "#!/bin/sh\nenv >&2\n")
    with pytest.raises(LinterFailed) as failed:
        template_findings(clone, {}, {TEXT: {}})
    assert "a-secret" not in str(failed.value)


def test_checkov_output_without_results(clone: Clone) -> None:
    write_file(clone, ".venv-checkov/bin/checkov", "#!/bin/sh\necho '{\"passed\": 0}'\n")
    assert template_findings(clone, {}, {TEXT: {}}) == {}


def test_missing_linter(clone: Clone) -> None:
    (clone.root / ".venv-checkov" / "bin" / "checkov").unlink()
    with pytest.raises(LinterFailed, match="checkov is not installed: run `make review`"):
        template_findings(clone, {}, {TEXT: {}})


LINT = """
import json, pathlib, sys
print(json.dumps([
    {"path": str(path), "message": path.read_text(), "rule": "LINTER"}
    for path in pathlib.Path(sys.argv[2]).glob("*/config.pbtxt")
]))
"""


def test_models_of_both_trees_use_the_linter_of_the_base(clone: Clone) -> None:
    write_file(clone, "model_build/__main__.py", LINT.replace("LINTER", "base"))
    write_file(clone, "models/a/config.pbtxt", "old")
    commit(clone)
    write_file(clone, "model_build/__main__.py", LINT.replace("LINTER", "head"))
    write_file(clone, "models/a/config.pbtxt", "new")
    with clone.checked_out("main") as base:
        change = model_findings(base, clone)
    assert change.fixed == ("model lint: models/a/config.pbtxt: old [base]",)
    assert change.new == ("model lint: models/a/config.pbtxt: new [base]",)


def test_unchanged_templates_are_not_linted(clone: Clone) -> None:
    write_file(clone, "bin/cfn-lint", CFN_LINT)
    write_file(clone, ".venv-checkov/bin/checkov", CHECKOV)
    same, other = {"Messages": ["a"]}, {"Messages": ["b"]}
    before, after = (
        {("prod", "prod-a"): same, ("prod", "prod-b"): messages} for messages in (same, other)
    )
    change = template_findings(clone, before, after)["prod"]
    assert change.remaining == ()
    assert all("prod-b" in line for line in (*change.new, *change.fixed))
