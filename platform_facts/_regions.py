from dataclasses import dataclass
from functools import cache
from typing import Any

from platform_facts._releases import Release
from platform_facts._support import Support
from platform_facts._tables import find, read_table

FIRST_RELEASE_OF_NEW_ACCOUNTS = "23.12"
"""The first release whose images are in `Region.account_since_23_12`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """An AWS region with SageMaker Triton images. Source: regions.toml.

    - `partition` is that of ARNs, such as "aws-cn".
    - `account_since_23_12` is the AWS account with the images of release 23.12 and later;
      `account_before_23_12` has the earlier ones (None: not listed).
    - `releases` are the names of the releases that the region has, `undocumented_releases` those
      for which there is no source; the region does not have other releases.
    - `codebuild_gpu`: CodeBuild has GPU machines in the region.
    - `instance_pools`: a source lists the region for endpoints with several instance types.
    - `zero_instances`: managed instance scaling is not known to reject a minimum of 0.
    - `budgets`: CloudFormation has AWS::Budgets::Budget in the region.
    - `missing_resource_type`: a type that a stage needs and CloudFormation lacks in the region.
    """

    name: str
    partition: str
    dns_suffix: str
    account_since_23_12: str
    account_before_23_12: str | None
    releases: tuple[str, ...]
    undocumented_releases: tuple[str, ...]
    codebuild_gpu: bool
    instance_pools: bool
    zero_instances: bool
    missing_resource_type: str | None
    budgets: bool

    @property
    def newest_release(self) -> str:
        """The name of the newest release in `releases`."""
        return max(self.releases)

    def account(self, release: Release) -> str | None:
        """Return the AWS account of the release's images in this region; None if not listed."""
        if release.name < FIRST_RELEASE_OF_NEW_ACCOUNTS:
            return self.account_before_23_12
        return self.account_since_23_12

    def availability(self, release: Release) -> Support:
        """Return whether the region has the release."""
        if release.name in self.releases:
            return Support.YES
        if release.name in self.undocumented_releases:
            return Support.UNDOCUMENTED
        return Support.NO


def regions() -> tuple[Region, ...]:
    """Return every region that has a SageMaker Triton image, in the order of regions.toml."""
    return tuple(_by_name().values())


def region(name: str) -> Region:
    """Return the region called `name`, such as "eu-west-1". Raise `UnknownFact`."""
    return find("AWS region with SageMaker Triton images", name, _by_name())


@cache
def _by_name() -> dict[str, Region]:
    return {
        name: _region(name, row, partition_name, partition)
        for partition_name, partition in read_table("regions.toml")["partition"].items()
        for name, row in partition["regions"].items()
    }


def _region(
    name: str, row: dict[str, str], partition_name: str, partition: dict[str, Any]
) -> Region:
    table, before = read_table("regions.toml"), row.get("before")

    def with_account(releases: list[str]) -> tuple[str, ...]:
        return tuple(
            release for release in releases if before or release >= FIRST_RELEASE_OF_NEW_ACCOUNTS
        )

    return Region(
        name=name,
        partition=partition_name,
        dns_suffix=partition["dns_suffix"],
        account_since_23_12=row["since"],
        account_before_23_12=before,
        releases=with_account(partition["releases"]),
        undocumented_releases=with_account(partition["undocumented_releases"]),
        codebuild_gpu=name in table["codebuild_gpu"]["regions"],
        instance_pools=name in table["instance_pools"]["regions"],
        zero_instances=name not in table["managed_instances"]["rejects_zero"],
        missing_resource_type=table["cloudformation"]["missing"].get(name),
        budgets=name not in table["cloudformation"]["without_budgets"],
    )
