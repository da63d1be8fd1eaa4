"""The price table, and how it is refreshed."""

import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

import platform_facts
from platform_facts import _refresh_prices as refresh_prices
from platform_facts._refresh_prices import NoPrices, hosting_prices, written


def product(usage_type: str, usd: str) -> str:
    """As the API has it: JSON in a text."""
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": usd}}
    return json.dumps(
        {
            "product": {"attributes": {"usagetype": usage_type, "regionCode": "us-east-1"}},
            "terms": {"OnDemand": {"A.B": {"priceDimensions": {"A.B.C": dimension}}}},
        }
    )


@pytest.fixture(scope="module")
def client() -> Any:
    return boto3.Session("key", "secret").client("pricing", region_name="us-east-1")


@pytest.fixture
def pricing(client: Any, monkeypatch: pytest.MonkeyPatch) -> Stubber:
    monkeypatch.setattr(boto3, "client", lambda *_, **__: client)
    return Stubber(client)


def answer(pricing: Stubber, *products: str, region: str = "us-east-1") -> None:
    pricing.add_response(
        "get_products",
        {"PriceList": list(products)},
        {
            "ServiceCode": "AmazonSageMaker",
            "Filters": [{"Type": "TERM_MATCH", "Field": "regionCode", "Value": region}],
        },
    )


def test_every_price_is_of_a_known_type_in_a_known_region() -> None:
    table = platform_facts.prices()
    assert table.per_hour
    for region, of in table.per_hour.items():
        platform_facts.region(region)
        for name, price in of.items():
            platform_facts.instance_type(name)
            assert 0.05 < price < 200


def test_a_price_that_nobody_read_is_none() -> None:
    assert platform_facts.prices().of("us-east-1", "ml.g99.xlarge") is None
    assert platform_facts.prices().of("nowhere", "ml.g5.xlarge") is None


def test_hosting_alone_is_taken(pricing: Stubber) -> None:
    answer(
        pricing,
        product("USE1-Host:ml.g5.xlarge", "1.408"),
        product("USE1-AsyncInf:ml.g5.xlarge", "2"),
        product("USE1-Train:ml.g5.xlarge", "3"),
        product("Host:ml.m5.xlarge", "0.23"),
    )
    with pricing:
        found = hosting_prices(pricing.client, "us-east-1")
    assert found == {"ml.g5.xlarge": 1.408, "ml.m5.xlarge": 0.23}


def test_a_region_without_prices_is_an_error(pricing: Stubber) -> None:
    answer(pricing, product("USE1-Train:ml.g5.xlarge", "3"))
    with pricing, pytest.raises(NoPrices, match="no prices of SageMaker hosting in us-east-1"):
        hosting_prices(pricing.client, "us-east-1")


def test_the_table_is_written_as_it_is_read(
    pricing: Stubber, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh_prices, "TABLE", tmp_path / "prices.toml")
    answer(pricing, product("EU-Host:ml.g5.xlarge", "1.5"), region="eu-west-1")
    answer(pricing, product("USE1-Host:ml.g5.xlarge", "1.4"))
    with pricing:
        assert refresh_prices.main(["eu-west-1"]) == 0
    table = tomllib.loads((tmp_path / "prices.toml").read_text())
    assert table["eu-west-1"] == {"ml.g5.xlarge": 1.5}
    assert table["us-east-1"] == {"ml.g5.xlarge": 1.4}
    assert isinstance(table["date"], date)


def test_without_an_answer_the_table_stays(
    pricing: Stubber, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "prices.toml"
    table.write_text(written({"us-east-1": {"ml.g5.xlarge": 1.0}}, date(2026, 1, 1)))
    before = table.read_text()
    monkeypatch.setattr(refresh_prices, "TABLE", table)
    pricing.add_client_error("get_products", "AccessDeniedException", "no")
    with pricing:
        assert refresh_prices.main([]) == 1
    assert table.read_text() == before
