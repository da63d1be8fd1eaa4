"""The price table."""

import platform_facts


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
