"""The ledger itself: rows that explain themselves, names that are known, a page that is current."""

import re
from pathlib import Path

import pytest

import checked_yaml
from release.permissions import NAMED, Principal, principals
from release.permissions.markdown import render
from tests.permission_names import Place, by_name, filled, filled_condition

ROOT = Path(__file__).parents[4]
PLACE = Place(region="eu-west-1", account="111122223333", stage="prod", endpoint="text")
ROW = "{ step: Look, actions: ['s3:GetObject'], resources: ['*'], source: a page }"


def read(path: Path, text: str) -> Principal:
    path.write_text(text)
    return checked_yaml.load(path, Principal)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"who: A\nrows: [{ROW}]", "write one of roles, named and granted"),
        (f"who: A\nnamed: b\ngranted: c\nrows: [{ROW}]", "write one of roles, named and granted"),
        (
            f"who: A\nnamed: b\nrows: [{ROW.replace('source: a page', 'when: promotion')}]",
            "write a source, or the reason why it is needed",
        ),
        (f"who: A\nnamed: b\nrows: [{ROW.replace('step', 'stage')}]", "rows"),
        (f"who: A\nnamed: b\nrows: [{ROW.replace('a page', 'a page, when: never')}]", "when"),
        ("who: A\nnamed: b\nrows: []", "rows"),
    ],
)
def test_a_row_that_does_not_explain_itself_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(checked_yaml.InvalidFile, match=re.escape(message)):
        read(tmp_path / "a.yaml", text)


@pytest.mark.parametrize("principal", principals(), ids=lambda value: value.name)
def test_every_name_in_a_row_is_known_and_every_file_is_there(principal: Principal) -> None:
    names = by_name(PLACE)
    for row in principal.rows:
        assert all(filled(resource, names) for resource in row.resources), row.step
        filled_condition(row.condition, names)
        if row.source and not row.source.startswith(("https://", "aws-cdk-lib")):
            first, *more = map(Path, row.source.split(", "))
            files = [first, *(each if each.parent.name else first.parent / each for each in more)]
            assert all((ROOT / file).is_file() for file in files), row.source
    assert len({each.step for each in principal.rows}) == len(principal.rows)


def test_a_resource_is_found_by_its_name_or_by_its_arn() -> None:
    archives = "{model_bucket}/{endpoint}/*"
    assert filled(archives, by_name(PLACE)) == "arn:aws:s3:::prod-models-modelsbucket*/text/*"
    known = PLACE.names({"model_bucket": "arn:aws:s3:::one"})
    assert filled(archives, known) == "arn:aws:s3:::one/text/*"
    assert filled("{engines}", known) is None  # a stage without it


def test_the_page_is_current() -> None:
    page = (ROOT / "docs" / "permissions.md").read_text()
    assert page == render(), "python -m release.permissions > docs/permissions.md"
    assert not set(re.findall(r"\{(\w+)\}", page)) & NAMED.keys()
