import re

import pytest

from platform_facts import Region, Release, Support, UnknownFact, region, regions, release, releases

each_region = pytest.mark.parametrize("row", regions(), ids=lambda row: row.name)
each_release = pytest.mark.parametrize("image", releases(), ids=lambda row: row.name)


@each_region
def test_every_account_is_twelve_digits(row: Region) -> None:
    assert re.fullmatch(r"\d{12}", row.account_since_23_12)
    if row.account_before_23_12 is not None:
        assert re.fullmatch(r"\d{12}", row.account_before_23_12)


@each_region
def test_a_region_has_the_partition_and_suffix_of_its_name(row: Region) -> None:
    china = row.name.startswith("cn-")
    assert row.partition == ("aws-cn" if china else "aws")
    assert row.dns_suffix == ("amazonaws.com.cn" if china else "amazonaws.com")


def test_the_account_sets_never_share_an_account() -> None:
    since = {row.account_since_23_12 for row in regions()}
    before = [row.account_before_23_12 for row in regions() if row.account_before_23_12]
    assert since.isdisjoint(before)
    assert len(before) == len(set(before)) == 22  # each region had an account of its own


@each_release
def test_every_region_of_a_release_has_an_account_in_the_releases_set(image: Release) -> None:
    for row in regions():
        if row.availability(image) is not Support.NO:
            expected = (
                row.account_since_23_12 if image.name >= "23.12" else row.account_before_23_12
            )
            assert expected is not None
            assert row.account(image) == expected


@each_region
def test_a_region_lists_only_releases_that_exist_and_none_twice(row: Region) -> None:
    listed = row.releases + row.undocumented_releases
    assert len(listed) == len(set(listed))
    assert set(listed) <= {image.name for image in releases()}


def test_us_east_1_has_every_release_or_the_sources_are_silent() -> None:
    silent = {
        image.name
        for image in releases()
        if region("us-east-1").availability(image) is Support.UNDOCUMENTED
    }
    assert silent == {"26.03", "24.09", "24.05", "24.03", "24.01", "23.12"}
    assert all(region("us-east-1").availability(image) is not Support.NO for image in releases())


@pytest.mark.parametrize("name", ["cn-north-1", "cn-northwest-1"])
def test_china_has_nothing_after_25_04(name: str) -> None:
    for image in releases():
        expected = Support.YES if image.name <= "25.04" else Support.NO
        assert region(name).availability(image) is expected
    assert region(name).newest_release == "25.04"


def test_a_region_without_an_old_account_has_no_old_release() -> None:
    row = region("ap-east-2")
    assert row.account(release("23.10")) is None
    assert row.availability(release("23.10")) is Support.NO
    assert row.availability(release("25.04")) is Support.YES


def test_codebuild_has_gpus_on_demand_in_thirteen_regions() -> None:
    with_gpus = {row.name for row in regions() if row.codebuild_gpu is Support.YES}
    assert with_gpus == {
        *("us-east-1", "us-east-2", "us-west-2", "ca-central-1"),
        *("eu-west-1", "eu-west-2", "eu-central-1"),
        *("ap-northeast-1", "ap-northeast-2", "ap-southeast-1", "ap-southeast-2"),
        *("cn-north-1", "cn-northwest-1"),
    }
    assert not any(row.codebuild_gpu is Support.NO for row in regions())


def test_an_unknown_region_is_refused_with_the_closest_names_first() -> None:
    with pytest.raises(UnknownFact) as refused:
        region("us-east1")
    assert str(refused.value).startswith(
        'no AWS region with SageMaker Triton images "us-east1": did you mean us-east-1 or '
    )
    assert "Known: af-south-1, ap-east-1, " in str(refused.value)
