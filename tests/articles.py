"""Print the claims of the articles as Markdown: `python -m tests.articles`."""

import sys
import tomllib
from pathlib import Path
from typing import Any

HEADER = """\
# The articles

The claims and steps of the five articles that this project began with, and the tests that show
them. {shown} of {all} claims are shown, {limited} of these with a limit, which stands below the
tests; the others have the reason. No claim was shown on AWS or on a GPU.
"""


def read_articles() -> list[dict[str, Any]]:
    """Return the articles of articles.toml, with their claims."""
    articles: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())[
        "article"
    ]
    return articles


def page() -> str:
    """Return the Markdown page."""
    articles = read_articles()
    claims = [claim for article in articles for claim in article["claim"]]
    shown = [claim for claim in claims if "shown_by" in claim]
    lines = HEADER.format(
        all=len(claims), shown=len(shown), limited=sum("limit" in claim for claim in shown)
    ).splitlines()
    for article in articles:
        lines += ["", f"## {article['title']}", "", "| | Claim | Shown by |", "| --- | --- | --- |"]
        lines += [
            f"| {claim['id']} | {claim['claim']} | {_cell(claim)} |" for claim in article["claim"]
        ]
    return "\n".join([*lines, ""])


def _cell(claim: dict[str, Any]) -> str:
    if "not_shown" in claim:
        return f"**Not shown.** {claim['not_shown']}"
    links = [
        f"[{name}](../{path})"
        for path, name in (test.split("::") for test in claim["shown_by"])
        for name in [name.replace("[", ": ").rstrip("]")]
    ]
    limit = f". {claim['limit']}" if "limit" in claim else ""
    return ", ".join(links) + limit


if __name__ == "__main__":
    sys.stdout.write(page())
