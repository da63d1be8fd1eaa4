import pytest

from local_sagemaker.codebuild.quota import BuildQuota
from local_sagemaker.errors import ApiError


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_queue_has_five_times_the_concurrent_builds(limit: int) -> None:
    quota = BuildQuota(limit)
    for build in range(6 * limit):
        quota.add(str(build))
    with pytest.raises(ApiError) as refused:
        quota.add("one more")
    assert refused.value.code == "AccountLimitExceededException"
    assert refused.value.message == (
        f"Cannot have more than {5 * limit} builds in queue for the account"
    )
    if limit:
        quota.remove("0")
        quota.add("one more")


def test_queue_limit_can_be_lowered() -> None:
    quota = BuildQuota(60, 1)
    for build in range(61):
        quota.add(str(build))
    with pytest.raises(ApiError) as refused:
        quota.add("one more")
    assert refused.value.message == "Cannot have more than 1 builds in queue for the account"
    quota.remove("0")
    quota.add("one more")
