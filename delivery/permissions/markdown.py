"""Render the ledger as a page of the documentation site."""

import json
import re

from jinja2 import Environment, PackageLoader, StrictUndefined

from delivery.permissions.ledger import Row, principals
from delivery.permissions.named_resources import NAMED_RESOURCES

TEMPLATE = "permissions.md.j2"
_OWN_ARN = re.compile(r"arn:\{partition\}:([\w-]+):(?:\{region\})?:(?:\{account\}|\{registry\})?:")


def render() -> str:
    """Return the page as Markdown."""
    environment = Environment(  # the ledger contains trusted Markdown, which must not be escaped
        loader=PackageLoader("delivery.permissions"),
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"arn": _short_arn, "json": json.dumps, "source": _source}
    return environment.get_template(TEMPLATE).render(principals=principals()).rstrip() + "\n"


def _short_arn(text: str) -> str:
    """Return a text with short ARNs: without partition, own region and own account."""
    shorter = _OWN_ARN.sub(r"\1:", text)
    for name, resource in NAMED_RESOURCES.items():
        shorter = shorter.replace(f"{{{name}}}", f"<{resource.label}>")
    return re.sub(r"\{(\w+)\}", lambda match: match[1].upper(), shorter)


def _source(row: Row) -> str:
    """Return a row's source as a link or a path, or its reason."""
    if row.source is None:
        return f"No source: {row.reason}"
    if row.source.startswith("https://"):
        page = row.source.rpartition("/")[2].partition("#")[0].removesuffix(".html")
        return f"[{page}]({row.source})"
    return f"`{row.source}`"
