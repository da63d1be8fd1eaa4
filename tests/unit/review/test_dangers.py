"""Messages of dangers for changes of a small stack, and acknowledgements of dangers."""

import copy
from datetime import date
from pathlib import Path

import pytest

from platform_facts.rules import checked_yaml
from review.acknowledged import Acknowledgements, read_acknowledgements
from review.dangers import dangers
from review.dangers.danger import Danger, group_across_endpoints, merge_explained
from tests.unit.review.edits import Edit, compare, drop, put
from tests.unit.review.resources import RESOURCES

STATEMENTS = ("BucketPolicy", "PolicyDocument", "Statement")
INSECURE = "if aws:SecureTransport Bool false"


def deletion_policy(value: str) -> Edit:
    return lambda resources: resources["RetainedBucket"].update(DeletionPolicy=value)


CASES: dict[str, tuple[Edit, list[str]]] = {
    "Deny becomes Allow": (
        put(*STATEMENTS, 0, "Effect", "Allow"),
        [
            f"anyone is no longer denied s3:* on Bucket {INSECURE}",
            f"anyone may s3:* on Bucket {INSECURE}",
        ],
    ),
    "DeletionPolicy changes to Delete": (
        deletion_policy("Delete"),
        ["AWS::S3::Bucket prod-text/RetainedBucket: is no longer retained when its stack is "
         "deleted: DeletionPolicy: Retain -> Delete"],
    ),

}  # fmt: skip


def _dangers(edit: Edit) -> list[Danger]:
    after = copy.deepcopy(RESOURCES)
    edit(after)
    return dangers(compare(RESOURCES, after))


@pytest.mark.parametrize("case", CASES)
def test_danger_messages(case: str) -> None:
    edit, expected = CASES[case]
    assert [danger.message for danger in _dangers(edit)] == expected


ACKNOWLEDGEMENT = """\
acknowledged:
  - danger: KEY
    who: Ada
    why: the alarm is flaky, see #7
    until: 2026-12-01
"""


@pytest.fixture
def acknowledgement_file(tmp_path: Path) -> Path:
    """Path of review/acknowledged.yaml below tmp_path."""
    (tmp_path / "review").mkdir()
    return tmp_path / "review" / "acknowledged.yaml"


@pytest.mark.parametrize(("today", "person"), [((2026, 12, 1), "Ada"), ((2026, 12, 2), None)])
def test_acknowledgement_expires(
    tmp_path: Path, acknowledgement_file: Path, today: tuple[int, int, int], person: str | None
) -> None:
    (danger,) = _dangers(drop("Endpoint", "DeploymentConfig"))
    acknowledgement_file.write_text(ACKNOWLEDGEMENT.replace("KEY", danger.key))
    acknowledgement = read_acknowledgements(tmp_path).find(danger.key, date(*today))
    assert (acknowledgement.who if acknowledgement else None) == person


def test_acknowledgement_is_valid_for_one_danger(
    tmp_path: Path, acknowledgement_file: Path
) -> None:
    (other,) = _dangers(drop("Endpoint", "DeploymentConfig"))
    acknowledgement_file.write_text(ACKNOWLEDGEMENT.replace("KEY", other.key))
    (danger,) = _dangers(drop("Quota"))
    assert read_acknowledgements(tmp_path).find(danger.key, date(2026, 12, 1)) is None


def test_missing_file_has_no_acknowledgements(tmp_path: Path) -> None:
    assert read_acknowledgements(tmp_path) == Acknowledgements()


def test_incomplete_acknowledgement_is_invalid(tmp_path: Path, acknowledgement_file: Path) -> None:
    acknowledgement_file.write_text(
        "acknowledged:\n  - danger: prod/lost_rollback/prod-text\n    who: Ada\n"
    )
    with pytest.raises(checked_yaml.InvalidFile) as raised:
        read_acknowledgements(tmp_path)
    assert [problem.key for problem in raised.value.problems] == [
        "acknowledged.0.why",
        "acknowledged.0.until",
    ]


def test_difference_from_the_plan_is_a_consequence_of_the_danger_of_its_resource() -> None:
    alarm = Danger("prod-text.Monitoring/Disk", "the alarm is silent", "silenced_alarms")
    mismatch, other = (
        Danger(f"prod-text.{name}", name, "plan_mismatches", resource=f"prod-text.{name}")
        for name in ("Monitoring/Disk", "Monitoring/Memory")
    )
    merged = merge_explained([mismatch, alarm, other])
    assert [(danger.message, danger.consequences) for danger in merged] == [
        ("the alarm is silent", ("Monitoring/Disk",)),
        ("Monitoring/Memory", ()),
    ]


def test_danger_of_several_stages_names_all_also_in_other_words() -> None:
    stages = {
        "prod": "prod-logs: anyone may read arn:aws:logs:us-east-1:${AWS::AccountId}:prod-*, 90",
        "dev": "dev-logs: anyone may read arn:aws:logs:eu-central-1:111111111111:dev-*, 90",
        "test": "test-logs: anyone may read arn:aws:logs:us-east-1:111111111111:test-*, 30",
    }
    (group,) = group_across_endpoints(
        Danger(f"{stage}-logs", message, "public_exposure", stage)
        for stage, message in stages.items()
    )
    assert group.sentence == f"{stages['prod']}; {stages['test']} (also dev-logs)"


def test_consequence_does_not_repeat_the_change() -> None:
    change = "Environment.URL: none -> https://example.org: a"
    danger = Danger(
        "a",
        f"Model A: a variable selects code: {change}",
        rule="selected_code",
        stage="prod",
        consequences=(f"Model A: refers to the host example.org: {change}",),
    )
    (group,) = group_across_endpoints([danger])
    assert group.sentence == f"{danger.message}; refers to the host example.org"
