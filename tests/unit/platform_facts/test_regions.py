import re

from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

from platform_facts import Region, Release, Support, region, regions, release, releases


def test_accounts_have_twelve_digits() -> None:
    accounts = {
        row.name: (row.account_since_23_12, row.account_before_23_12 or "0" * 12)
        for row in regions()
    }
    assert {
        name: pair
        for name, pair in accounts.items()
        if not all(re.fullmatch(r"\d{12}", account) for account in pair)
    } == {}


def test_dns_suffix_of_china_regions() -> None:
    suffixes = {True: "amazonaws.com.cn", False: "amazonaws.com"}
    mismatches = [
        row for row in regions() if row.dns_suffix != suffixes[row.name.startswith("cn-")]
    ]
    assert [row.name for row in mismatches] == []


def test_account_sets_are_disjoint() -> None:
    since = {row.account_since_23_12 for row in regions()}
    before = [row.account_before_23_12 for row in regions() if row.account_before_23_12]
    assert since.isdisjoint(before)
    assert len(before) == len(set(before)) == 22  # each region had its own account


def test_regions_have_an_account_for_their_releases() -> None:
    def accounts(row: Region, image: Release) -> list[str | None]:
        expected = (row.account_before_23_12, row.account_since_23_12)[image.name >= "23.12"]
        return [row.account(image), expected]

    account_pairs = {
        (row.name, image.name): accounts(row, image)
        for row in regions()
        for image in releases()
        if row.availability(image) is not Support.NO
    }
    assert {
        key: pair for key, pair in account_pairs.items() if None in pair or pair[0] != pair[1]
    } == {}


def test_region_without_old_account_has_no_old_release() -> None:
    row = region("ap-east-2")
    assert row.account(release("23.10")) is None
    assert row.availability(release("23.10")) is Support.NO
    assert row.availability(release("25.04")) is Support.YES


def test_missing_resource_types_match_cloudformation() -> None:
    needed = {
        *(f"AWS::SageMaker::{kind}" for kind in ("Endpoint", "EndpointConfig", "Model")),
        *("AWS::ApplicationAutoScaling::ScalableTarget", "AWS::CodeBuild::Project"),
        *("AWS::KMS::Key", "AWS::Lambda::Function", "AWS::Logs::LogGroup", "AWS::S3::Bucket"),
        *("AWS::DynamoDB::Table", "AWS::SNS::Topic", "AWS::StepFunctions::StateMachine"),
    }
    known = {row.name: PROVIDER_SCHEMA_MANAGER.get_resource_types(row.name) for row in regions()}
    lacking = {name: needed - set(types) for name, types in known.items() if needed - set(types)}
    assert {row.name for row in regions() if row.missing_resource_type} == set(lacking)
    assert all(region(name).missing_resource_type in types for name, types in lacking.items())
    without_budgets = {name for name, types in known.items() if "AWS::Budgets::Budget" not in types}
    assert {row.name for row in regions() if not row.budgets} == without_budgets
