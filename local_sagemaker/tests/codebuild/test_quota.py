import pytest

from local_sagemaker.codebuild.quota import BuildQuota
from local_sagemaker.errors import ApiError


@pytest.mark.parametrize(
    ("quota", "max_queued"), [(BuildQuota(0), 0), (BuildQuota(3), 15), (BuildQuota(60, 1), 1)]
)
def test_full_queue_refuses_builds_until_one_ends(quota: BuildQuota, max_queued: int) -> None:
    for build in range(quota.limit + max_queued):
        quota.add(str(build))
    with pytest.raises(ApiError) as exc_info:
        quota.add("one more")
    assert exc_info.value.code == "AccountLimitExceededException"
    assert exc_info.value.message == (
        f"Cannot have more than {max_queued} builds in queue for the account"
    )
    if quota.limit:
        quota.remove("0")
        quota.add("one more")
