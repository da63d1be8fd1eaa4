"""On-demand prices of SageMaker real-time inference, from the AWS Price List API."""

import json
import re
from typing import Any

API_REGIONS = {"aws": "us-east-1", "aws-cn": "cn-northwest-1"}
"""Partition -> where its Price List API is; prices of every region are there."""

HOSTING = re.compile(r"(?:^|-)Host:(ml\.[a-z0-9-]+\.[a-z0-9]+)$")
"""The usage type of real-time inference, such as USE1-Host:ml.g5.xlarge; asynchronous inference and
training have others."""


class NoPrices(Exception):
    """The API had none for a region, or not one for a type."""


def hosting_prices(client: Any, region: str) -> dict[str, float]:
    """Return instance type -> USD for each hour. Raises `NoPrices`."""
    pages = client.get_paginator("get_products").paginate(
        ServiceCode="AmazonSageMaker",
        Filters=[{"Type": "TERM_MATCH", "Field": "regionCode", "Value": region}],
    )
    found: dict[str, float] = {}
    for page in pages:
        for product in map(json.loads, page["PriceList"]):
            match = HOSTING.search(product["product"]["attributes"].get("usagetype", ""))
            if match:
                found[match[1]] = _on_demand(product)
    if not found:
        raise NoPrices(f"AWS has no prices of SageMaker hosting in {region}")
    return found


def _on_demand(product: dict[str, Any]) -> float:
    """Return the one price of a product that is paid by the hour. Raises `NoPrices`."""
    try:
        (term,) = product["terms"]["OnDemand"].values()
        (dimension,) = term["priceDimensions"].values()
        return float(dimension["pricePerUnit"]["USD"])
    except (KeyError, ValueError):
        attributes = json.dumps(product["product"]["attributes"], sort_keys=True)
        raise NoPrices(f"no one price on demand in USD of {attributes}") from None
