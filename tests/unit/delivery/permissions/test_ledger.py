"""Tests of the ledger of permissions and its page."""

import re
from pathlib import Path

import pytest

from delivery.permissions import NAMED_RESOURCES, Principal, principals
from delivery.permissions.markdown import render
from tests.permission_names import Place, by_name, filled, filled_condition

ROOT = Path(__file__).parents[4]
PLACE = Place(region="eu-west-1", account="111122223333", stage="prod", endpoint="text")


@pytest.mark.parametrize("principal", principals(), ids=lambda principal: principal.name)
def test_names_and_sources_in_rows_exist(principal: Principal) -> None:
    names = by_name(PLACE)
    for row in principal.rows:
        assert all(filled(resource, names) for resource in row.resources), row.step
        filled_condition(row.condition, names)
        if row.source and not row.source.startswith(("https://", "aws-cdk-lib")):
            first, *others = map(Path, row.source.split(", "))
            files = [first, *(path if path.parent.name else first.parent / path for path in others)]
            assert all((ROOT / file).is_file() for file in files), row.source
    assert len({row.step for row in principal.rows}) == len(principal.rows)


def test_names_in_resources_are_replaced_by_arns() -> None:
    archives = "{model_bucket}/{endpoint}/*"
    assert filled(archives, by_name(PLACE)) == "arn:aws:s3:::prod-models-modelsbucket*/text/*"
    names = PLACE.names({"model_bucket": "arn:aws:s3:::one"})
    assert filled(archives, names) == "arn:aws:s3:::one/text/*"
    assert filled("{engines}", names) is None  # a stage without engine builds


def test_page_has_each_principal_and_no_placeholder() -> None:
    page = render()
    assert all(f"\n## {principal.name}\n" in page for principal in principals())
    assert not set(re.findall(r"\{(\w+)\}", page)) & NAMED_RESOURCES.keys()
