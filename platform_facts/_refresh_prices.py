"""Write prices.toml anew through the AWS Price List API: `make prices`.

Needs credentials with pricing:GetProducts. Regions are those that the table has, and those named as
arguments. Nothing is written unless every region has prices.
"""

import json
import re
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from platform_facts._prices import prices

TABLE = Path(__file__).with_name("prices.toml")
API_REGION = "us-east-1"
"""Where the Price List API is; prices of every region are there."""
HOSTING = re.compile(r"(?:^|-)Host:(ml\.[a-z0-9-]+\.[a-z0-9]+)$")
"""The usage type of real-time inference, such as USE1-Host:ml.g5.xlarge; asynchronous inference and
training have others."""
HEADER = """\
# On-demand prices of SageMaker real-time inference, USD for each instance and hour.
#
# Written by `make prices` through the AWS Price List API. A type that is not here has no price.
"""


class NoPrices(Exception):
    """The API had none for a region."""


def main(arguments: list[str]) -> int:
    """Write the table; return the exit code."""
    regions = sorted({*prices().per_hour, *arguments})
    client = boto3.client("pricing", region_name=API_REGION)
    try:
        found = {region: hosting_prices(client, region) for region in regions}
    except (BotoCoreError, ClientError, NoPrices) as error:
        print(f"error: {error}; {TABLE.name} is as it was", file=sys.stderr)
        return 1
    TABLE.write_text(written(found, datetime.now(UTC).date()), encoding="utf-8")
    for region, of in found.items():
        print(f"{region}: {len(of)} instance types")
    return 0


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


def written(found: dict[str, dict[str, float]], day: date) -> str:
    """Return the table as TOML."""
    lines = [HEADER, f"date = {day}", 'source = "AWS Price List API, AmazonSageMaker"']
    for region, of in sorted(found.items()):
        lines += ["", f"[{region}]", *(f'"{name}" = {price}' for name, price in sorted(of.items()))]
    return "\n".join(lines) + "\n"


def _on_demand(product: dict[str, Any]) -> float:
    """Return the one price of a product that is paid by the hour. Raises `NoPrices`."""
    try:
        (term,) = product["terms"]["OnDemand"].values()
        (dimension,) = term["priceDimensions"].values()
        return float(dimension["pricePerUnit"]["USD"])
    except (KeyError, ValueError):
        attributes = json.dumps(product["product"]["attributes"], sort_keys=True)
        raise NoPrices(f"no one price on demand in USD of {attributes}") from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
