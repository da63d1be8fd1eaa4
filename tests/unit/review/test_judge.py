"""Reviews with the code, settings and acknowledgements of the base, not of the change."""

import copy
import json
from datetime import date, timedelta

from release.checkout import GitCheckout
from tests.tritonsm import tritonsm
from tests.unit.conftest import commit
from tests.unit.review.conftest import write_file
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


def test_acknowledgements_of_the_change_are_not_valid(clone: GitCheckout) -> None:
    remove_rollback(clone)
    until = date.today() + timedelta(days=30)
    line = f"{{ danger: {DANGER}, who: Mallory, why: trust me, until: {until} }}"
    write_file(clone, "review/acknowledged.yaml", f"acknowledged: [{line}]\n")
    assert tritonsm(["review", "--base", "main"]) == 3
    assert danger_keys(clone)[DANGER] is False
    report = json.loads((clone.root / "review.out" / "review.json").read_text())
    assert "review/acknowledged.yaml (new)" in "".join(report["code"])


def test_change_of_only_acknowledgements_is_not_a_danger(clone: GitCheckout) -> None:
    clone.git("checkout", "--quiet", "-b", "change")
    acknowledge(clone, DANGER)
    assert tritonsm(["review", "--base", "main"]) == 0


def test_changed_code_without_an_owner_in_the_base_exits_with_3(clone: GitCheckout) -> None:
    write_file(clone, ".github/CODEOWNERS", "* @octo-org/on-call\n")
    commit(clone)
    write_file(clone, ".github/CODEOWNERS", "* @mallory\n")
    write_file(clone, "botocore/__init__.py", "print('in place of the installed one')")
    assert tritonsm(["review", "--base", "main"]) == 3
    (danger,) = json.loads((clone.root / "review.out" / "review.json").read_text())["dangers"]
    assert any("botocore/__init__.py: package botocore" in line for line in danger["details"])
    acknowledge(clone, f"repository/unowned_code/{danger['subject']}")
    assert tritonsm(["review", "--base", "main"]) == 0
    write_file(clone, "botocore/__init__.py", "print('something else')")
    assert tritonsm(["review", "--base", "main"]) == 3
