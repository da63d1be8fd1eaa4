"""The price table."""

import platform_facts


def test_prices_have_known_types_and_regions() -> None:
    table = platform_facts.prices()
    assert table.per_hour
    for region, prices in table.per_hour.items():
        platform_facts.region(region)
        for name, price in prices.items():
            platform_facts.instance_type(name)
            assert 0.05 < price < 200


def test_unknown_price_is_none() -> None:
    assert platform_facts.prices().of("us-east-1", "ml.g99.xlarge") is None
    assert platform_facts.prices().of("nowhere", "ml.g5.xlarge") is None
