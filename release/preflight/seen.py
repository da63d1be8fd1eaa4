"""What a preflight has seen, written into the tables of `platform_facts` as sourced rows."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import platform_facts
from release.preflight.account import Account
from release.preflight.gpu_probe import Gpu
from release.preflight.instance_quotas import SERVICE, quota_name
from release.preflight.price_list import hosting_prices
from release.preflight.prices import pricing

TABLE, PRICES = "seen.toml", "prices.toml"
PRICES_HEADER = """\
# On-demand prices of SageMaker real-time inference, USD for each instance and hour.
#
# Written by `make preflight RECORD=1` through the AWS Price List API. A type that is not here has
# no price.
"""

Rows = dict[str, list[dict[str, Any]]]


@dataclass
class Seen:
    """What a run has found out that no other topic keeps."""

    gpu: Gpu | None = None


def record_gpu(account: Account, seen: Seen, facts: Path, day: date) -> Iterator[str]:
    """Write what a probe saw, which was paid for, into the folder `facts`; yield a line of it."""
    if seen.gpu is None:
        return
    if not seen.gpu.was_seen:
        yield f"{TABLE}: nothing of CodeBuild's GPU: the probe read no driver or no CUDA"
        return
    _write(facts, "codebuild_gpu", {**_source(account, day), **vars(seen.gpu)})
    yield f"{TABLE}: CodeBuild's GPU in {account.region}"


def record(account: Account, facts: Path, day: date) -> Iterator[str]:
    """Write what the account says into the folder `facts`; yield a line for each table.

    Raises `NoPrices`, and what AWS answers; what was written before stays.
    """
    defaults = _default_quotas(account)
    if defaults:
        _write(facts, "hosting", {**_source(account, day), "default_quotas": defaults})
        yield f"{TABLE}: {len(defaults)} instance types in {account.region}"

    regions = sorted({*platform_facts.prices().per_hour, account.region})
    client = pricing(account)
    found_prices = {region: hosting_prices(client, region) for region in regions}
    (facts / PRICES).write_text(prices_written(found_prices, day), encoding="utf-8")
    for region, of in found_prices.items():
        yield f"{PRICES}: {len(of)} instance types in {region}"


def with_rows(text: str, rows: Rows) -> str:
    """Return a table's text with other rows, and the comment that it begins with."""
    lines = [line for line in text.splitlines() if line.startswith("#")]
    for name, of in sorted(rows.items()):
        for row in sorted(of, key=lambda it: str(it["region"])):
            lines += ["", f"[[{name}]]", *(f"{key} = {_toml(row[key])}" for key in row)]
    return "\n".join(lines) + "\n"


def prices_written(found: Mapping[str, Mapping[str, float]], day: date) -> str:
    """Return the table of prices as TOML."""
    lines = [PRICES_HEADER, f"date = {day}", 'source = "AWS Price List API, AmazonSageMaker"']
    for region, of in sorted(found.items()):
        lines += ["", f"[{region}]", *(f'"{name}" = {price}' for name, price in sorted(of.items()))]
    return "\n".join(lines) + "\n"


def _source(account: Account, day: date) -> dict[str, Any]:
    """Return where and when something was seen: of AWS, so that no account is named."""
    source = f"preflight, {day}, {account.region}; account not named"
    return {"region": account.region, "date": day, "source": source}


def _write(facts: Path, name: str, row: dict[str, Any]) -> None:
    """Write a row in the place of the one of its region."""
    path = facts / TABLE
    text = path.read_text(encoding="utf-8")
    rows: Rows = tomllib.loads(text)
    kept = [it for it in rows.get(name, ()) if it["region"] != row["region"]]
    path.write_text(with_rows(text, {**rows, name: [*kept, row]}), encoding="utf-8")


def _default_quotas(account: Account) -> dict[str, int]:
    """Return the types of instances.toml that SageMaker has a quota for -> AWS's default."""
    defaults = account.quotas.defaults(SERVICE)
    return {
        it.name: int(defaults[quota_name(it.name)].value)
        for it in platform_facts.instance_types()
        if quota_name(it.name) in defaults
    }


def _toml(value: Any) -> str:
    match value:
        case dict():
            return "{ " + ", ".join(f'"{key}" = {_toml(it)}' for key, it in value.items()) + " }"
        case int() | float() | date():
            return str(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(it if it.isprintable() else f"\\u{ord(it):04x}" for it in escaped) + '"'
