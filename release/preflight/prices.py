"""What instances cost now, against the prices that reviews use."""

from collections.abc import Iterator
from typing import Any

import platform_facts
from release.preflight.account import Account
from release.preflight.clients import client
from release.preflight.fleets import fleets
from release.preflight.price_list import API_REGIONS, NoPrices, hosting_prices
from release.preflight.rows import Row, Topic

TOPIC = Topic("prices")
WRITE = "correct platform_facts/prices.toml, with the date and the source"


def ask(account: Account) -> Iterator[Row]:
    """Compare the price of every instance type of the stage. A difference is said, not refused."""
    try:
        now = hosting_prices(_client(account), account.region)
    except NoPrices as error:
        yield TOPIC.unknown(account.region, str(error))
        return
    table = platform_facts.prices()
    for kind in sorted({kind for fleet in fleets(account) for kind in fleet.most}):
        price, known = now.get(kind), table.of(account.region, kind)
        if price is None:
            yield TOPIC.unknown(kind, "AWS has no price of it here")
        elif known is None:
            yield TOPIC.ok(kind, f"{price} USD an hour now; reviews know no price", WRITE)
        elif price == known:
            yield TOPIC.ok(kind, f"{price} USD an hour, as reviews say")
        else:
            yield TOPIC.ok(
                kind, f"{price} USD an hour now; reviews say {known}, of {table.date}", WRITE
            )


def _client(account: Account) -> Any:
    """Return a client of the partition's Price List API."""
    region = API_REGIONS.get(account.caller.partition, API_REGIONS["aws"])
    return client(account.session, "pricing", region)
