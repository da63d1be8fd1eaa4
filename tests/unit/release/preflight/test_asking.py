"""What a topic fails with is a row, and the others go on."""

from collections.abc import Iterator

import pytest
from botocore.exceptions import EndpointConnectionError

from release.preflight.account import Account, NotDeployed, Unresolved
from release.preflight.asking import rows_of
from release.preflight.rows import Row, Topic, Verdict
from tests.unit.release.preflight.conftest import MakeAccount, denied, error

BROKEN, FINE = Topic("broken"), Topic("fine")


def fine(_: Account) -> Iterator[Row]:
    yield FINE.ok("it", "is")


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (denied("ssm:GetParameter"), "not allowed to ask (ssm:GetParameter)"),
        (
            error("UnauthorizedOperation", "no", "DescribeSubnets"),
            "not allowed to ask (DescribeSubnets)",
        ),
        (NotDeployed("prod-models"), "depends on prod-models, which is not deployed"),
        (Unresolved('{"Ref": "X"}'), 'only CloudFormation knows {"Ref": "X"}'),
        (error("Throttled", "too fast", "ListThings"), "AWS answers ListThings with: too fast"),
        (error("400", "", "ListThings"), "AWS answers ListThings with: 400"),
        (
            EndpointConnectionError(endpoint_url="https://nowhere"),
            'AWS: Could not connect to the endpoint URL: "https://nowhere"',
        ),
    ],
)
def test_what_a_topic_fails_with_is_unknown_and_the_next_is_asked(
    make: MakeAccount, failure: Exception, said: str
) -> None:
    def broken(_: Account) -> Iterator[Row]:
        yield BROKEN.refused("first", "was found before", "correct it")
        raise failure

    first, second, third = rows_of([(BROKEN, broken), (FINE, fine)], make())
    assert (first.subject, first.verdict) == ("first", Verdict.REFUSED)
    assert second == Row("broken", "broken", Verdict.UNKNOWN, said)
    assert third.verdict is Verdict.OK


def test_a_mistake_of_ours_is_no_row(make: MakeAccount) -> None:
    def broken(_: Account) -> Iterator[Row]:
        yield FINE.ok("it", "is")
        raise KeyError("ours")

    with pytest.raises(KeyError):
        list(rows_of([(BROKEN, broken)], make()))
