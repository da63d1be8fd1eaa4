"""The ledger as a page for readers: docs/permissions.md."""

import json
import re
from collections.abc import Iterable

from release.permissions.ledger import Principal, Row, principals
from release.permissions.names import NAMED

HEAD = """\
# Permissions

What each principal may do, and the step that needs it. Written by `python -m release.permissions`
from the ledger in [release/permissions/principals](../release/permissions/principals): change it
there.

- Tests hold the policies of every stage's templates against it, both ways: what a row needs is
  allowed, by the role, by the resource's own policy and by its key's; and nothing is allowed that
  no row needs. So a new permission in a stack needs a row here.
- The local SageMaker records what functions, builds, endpoints, deliveries and commands call:
  what is recorded has a row here. It refuses nobody, and it does not call what AWS calls by
  itself, such as S3 asking for a key.
- A source is a page of AWS or a file that makes the call; where there is none, the reason stands in
  its place. **Nothing of this ran on AWS.**
- `STAGE` and `ENDPOINT` are names as in the stage's file; `<...>` is a resource of the stage. ARNs
  are written without partition, region and account, which are the stage's own.
- Who deploys by hand uses the roles of `cdk bootstrap`, which are not made here.
"""

_OWN_ARN = re.compile(r"arn:\{partition\}:([\w-]+):(?:\{region\})?:(?:\{account\}|\{registry\})?:")


def render() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *(line for it in principals() for line in _section(it))])


def _section(principal: Principal) -> Iterable[str]:
    yield f"## {principal.name}\n"
    yield f"{principal.who}. {_from(principal)}\n"
    yield "| Step | Actions | On | Only if | Source or reason |"
    yield "| --- | --- | --- | --- | --- |"
    yield from map(_row, principal.rows)
    yield ""


def _from(principal: Principal) -> str:
    if principal.roles:
        held = (f"`{it.resource}` ({it.stack} stack, {it.trusts})" for it in principal.roles)
        return f"Role: {'; '.join(held)}."
    if principal.named:
        return f"Named in policies of resources: `{_resource(principal.named)}`."
    return f"Granted by: {principal.granted}."


def _row(row: Row) -> str:
    cells = (
        row.step + (f" (with {row.when})" if row.when else ""),
        "<br>".join(f"`{it}`" for it in row.actions),
        "<br>".join(f"`{_resource(it)}`" for it in row.resources),
        f"`{_resource(json.dumps(row.condition))}`" if row.condition else "",
        _source(row),
    )
    return f"| {' | '.join(cells)} |"


def _resource(text: str) -> str:
    """Return a resource as a reader knows it."""
    shorter = _OWN_ARN.sub(r"\1:", text)
    for name, it in NAMED.items():
        shorter = shorter.replace(f"{{{name}}}", f"<{it.what}>")
    return re.sub(r"\{(\w+)\}", lambda it: it[1].upper(), shorter)


def _source(row: Row) -> str:
    if row.source is None:
        return f"No source: {row.reason}"
    if row.source.startswith("https://"):
        page = row.source.rpartition("/")[2].partition("#")[0].removesuffix(".html")
        return f"[{page}]({row.source})"
    return f"`{row.source}`"
