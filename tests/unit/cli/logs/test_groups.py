"""Which log groups a name stands for."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from cli.errors import CommandError
from cli.logs.groups import groups
from release.permissions import NAMED
from tests.unit.release.preflight.conftest import Aws, error, resources

PREFIX = "/aws/sagemaker/Endpoints/"
STAGES = ["dev", "prod"]


@pytest.fixture
def aws(aws: Aws) -> Aws:
    """An account with two endpoints of prod, and builds of it."""
    names = [f"{PREFIX}prod-text", f"{PREFIX}prod-text-long"]

    def described(asked: dict[str, Any]) -> dict[str, Any]:
        found = [it for it in names if it.startswith(asked["logGroupNamePrefix"])]
        return {"logGroups": [{"logGroupName": it} for it in found]}

    def listed(asked: dict[str, Any]) -> dict[str, Any]:
        if asked["StackName"] != "prod-models":
            raise error("ValidationError", f"Stack with id {asked['StackName']} does not exist")
        logical = ("BuilderProjectLog1A", "EnginesProjectLog2B", "BuilderPollLog3C", "Bucket")
        return resources(**{it: f"prod-models-{it}-X" for it in logical})

    aws.answers = {
        "logs.DescribeLogGroups": described,
        "cloudformation.ListStackResources": listed,
    }
    return aws


def test_an_endpoint_has_one_group_and_nothing_of_another_that_begins_alike(aws: Aws) -> None:
    assert groups(aws.session, "prod-text", STAGES) == [f"{PREFIX}prod-text"]


def test_builds_have_the_groups_that_the_stack_has_made(aws: Aws) -> None:
    found = groups(aws.session, "prod/builds", STAGES)
    assert found == ["prod-models-BuilderProjectLog1A-X", "prod-models-EnginesProjectLog2B-X"]
    assert NAMED["builder_log"].resource == "BuilderProjectLog"


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("prod-txet", "prod-text, prod-text-long, prod/builds"),
        ("dev/builds", "prod/builds, prod-text-long, prod-text"),
    ],
)
def test_instead_of_a_name_that_there_is_not_those_that_there_are_come_nearest_first(
    aws: Aws, name: str, offered: str
) -> None:
    with pytest.raises(CommandError, match=f"^there is no log of {name}: there are {offered}$"):
        groups(aws.session, name, STAGES)


def test_where_there_is_none_that_is_said(aws: Aws) -> None:
    aws.answers["logs.DescribeLogGroups"] = {"logGroups": []}
    with pytest.raises(CommandError, match="there is none yet"):
        groups(aws.session, "dev-text", ["dev"])


def test_what_is_not_permitted_is_no_log_that_is_missing(aws: Aws) -> None:
    aws.answers["cloudformation.ListStackResources"] = error("AccessDenied", "not authorized")
    with pytest.raises(ClientError, match="AccessDenied"):
        groups(aws.session, "prod/builds", STAGES)
