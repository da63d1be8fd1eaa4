"""Prices of instance types, and the tables of platform_facts, against what AWS has."""

import json

import pytest

import platform_facts
from release.preflight import facts, prices
from release.preflight.instance_quotas import quota_name
from release.preflight.price_list import NoPrices, hosting_prices
from release.preflight.rows import Verdict
from tests.unit.release.preflight.conftest import (
    Aws,
    MakeAccount,
    endpoint_stack,
    not_deployed,
    quotas,
    runs,
)


def product(usage_type: str, usd: str) -> str:
    """As the API has it: JSON in a text."""
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": usd}}
    return json.dumps(
        {
            "product": {"attributes": {"usagetype": usage_type, "regionCode": "us-east-1"}},
            "terms": {"OnDemand": {"A.B": {"priceDimensions": {"A.B.C": dimension}}}},
        }
    )


def cost(aws: Aws, *products: str) -> None:
    aws.answers["pricing.GetProducts"] = {"PriceList": list(products)}


def test_hosting_alone_is_taken(aws: Aws) -> None:
    cost(
        aws,
        product("USE1-Host:ml.g5.xlarge", "1.408"),
        product("USE1-AsyncInf:ml.g5.xlarge", "2"),
        product("USE1-Train:ml.g5.xlarge", "3"),
        product("Host:ml.m5.xlarge", "0.23"),
    )
    found = hosting_prices(aws.session.client("pricing"), "eu-west-1")
    assert found == {"ml.g5.xlarge": 1.408, "ml.m5.xlarge": 0.23}
    (request,) = aws.requests("pricing.GetProducts")
    assert request["Filters"][0]["Value"] == "eu-west-1"


def test_a_region_without_prices_and_a_product_with_several_are_errors(aws: Aws) -> None:
    client = aws.session.client("pricing")
    cost(aws, product("USE1-Train:ml.g5.xlarge", "3"))
    with pytest.raises(NoPrices, match="no prices of SageMaker hosting in us-east-1"):
        hosting_prices(client, "us-east-1")
    free = json.loads(product("Host:ml.g5.xlarge", "1"))
    free["terms"]["OnDemand"] = {}
    cost(aws, json.dumps(free))
    with pytest.raises(NoPrices, match="no one price"):
        hosting_prices(client, "us-east-1")


@pytest.mark.parametrize(
    ("products", "verdict", "said"),
    [
        (["1.4084"], Verdict.OK, "as reviews say"),
        (["1.5"], Verdict.OK, "1.5 USD an hour now; reviews say 1.4084, of 2025-02-03"),
        ([], Verdict.UNKNOWN, "AWS has no price of it here"),
    ],
)
def test_prices_now_are_compared_with_those_of_reviews(
    make: MakeAccount, aws: Aws, products: list[str], verdict: Verdict, said: str
) -> None:
    runs(aws)
    aws.answers["cloudformation.ListStackResources"] = not_deployed()
    of = [product("Host:ml.g5.xlarge", usd) for usd in products]
    cost(aws, product("Host:ml.other", "1"), product("Host:ml.m4.xlarge", "1"), *of)
    (row,) = prices.ask(make(prod_text=endpoint_stack()))
    assert row.verdict is verdict
    assert said in row.said


def test_a_family_that_no_table_has_is_said(make: MakeAccount, aws: Aws) -> None:
    names = {quota_name(it): 1 for it in ("ml.g5.xlarge", "ml.g99.xlarge", "ml.m5.large")}
    names["ml.g98.xlarge for training job usage"] = 1
    aws.answers["service-quotas.ListServiceQuotas"] = quotas(**names)
    aws.answers["service-quotas.ListAWSDefaultServiceQuotas"] = quotas()
    _, row = facts.ask(make())
    assert row.said == "SageMaker has g99, which platform_facts/instances.toml has not"
    del names[quota_name("ml.g99.xlarge")]
    aws.answers["service-quotas.ListServiceQuotas"] = quotas(**names)
    _, row = facts.ask(make())
    assert "has all that SageMaker has" in row.said


def test_an_inference_ami_that_no_table_has_is_said_without_a_call(
    make: MakeAccount, aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "has all of the SDK's" in next(facts.ask(make())).said
    *older, newest = platform_facts.inference_amis()
    monkeypatch.setattr(platform_facts, "inference_amis", lambda: older)
    row = next(facts.ask(make()))
    assert row.said == (
        f"the SDK has {newest.name}, which platform_facts/inference_amis.toml has not"
    )
    assert aws.asked == []
