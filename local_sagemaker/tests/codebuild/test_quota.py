import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_sagemaker.codebuild.quota import BuildQuota
from local_sagemaker.errors import ApiError


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_five_times_as_many_wait_as_run_and_no_more(limit: int) -> None:
    quota = BuildQuota(limit)
    for build in range(6 * limit):
        quota.enter(str(build))
    with pytest.raises(ApiError) as refused:
        quota.enter("one more")
    assert refused.value.code == "AccountLimitExceededException"
    assert refused.value.message == (
        f"Cannot have more than {5 * limit} builds in queue for the account"
    )
    if limit:
        quota.leave("0")
        quota.enter("one more")


def test_a_new_account_s_queue_is_shorter_than_the_guide_says() -> None:
    quota = BuildQuota(60, 1)
    for build in range(61):
        quota.enter(str(build))
    with pytest.raises(ApiError) as refused:
        quota.enter("one more")
    assert refused.value.message == "Cannot have more than 1 builds in queue for the account"
    quota.leave("0")
    quota.enter("one more")


@given(limit=st.integers(1, 3), steps=st.lists(st.tuples(st.booleans(), st.integers(0, 9))))
def test_never_do_more_run_than_may_and_no_place_stays_empty(
    limit: int, steps: list[tuple[bool, int]]
) -> None:
    quota, inside = BuildQuota(limit), set[str]()
    for enters, number in steps:
        build = str(number)
        if enters and build not in inside and len(inside) < 6 * limit:
            quota.enter(build)
            inside.add(build)
        elif not enters:
            quota.leave(build)
            inside.discard(build)
        running = {each for each in inside if quota.may_run(each)}
        assert len(running) == min(limit, len(inside))
