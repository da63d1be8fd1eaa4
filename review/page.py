"""The review as one HTML page: nothing is fetched, and a phone can read it."""

import html
import re

from review import markdown
from review.report import Report

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { border: 1px solid #8888; padding: .3rem .6rem; text-align: left; vertical-align: top; }
code, pre { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { overflow-x: auto; overflow-wrap: normal; background: #8881; padding: .6rem; }
li { overflow-wrap: anywhere; }
summary { cursor: pointer; padding: .4rem 0; }
blockquote { border-left: 4px solid #8888; margin: 0; padding-left: 1rem; }
"""


def render(report: Report) -> str:
    """Return the page."""
    body = "\n".join(_blocks(markdown.render(report)))
    title = html.escape(f"Review against {report.base}")
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _blocks(text: str) -> list[str]:
    """Turn the Markdown that we write ourselves into HTML; it has these forms and no others."""
    out: list[str] = []
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        line = lines[index]
        if line == "```":
            end = lines.index("```", index + 1)
            out.append(f"<pre>{html.escape(chr(10).join(lines[index + 1 : end]))}</pre>")
            index = end
        elif match := re.fullmatch(r"(#+) (.*)", line):
            level = len(match[1])
            out.append(f"<h{level}>{_inline(match[2])}</h{level}>")
        elif line.startswith("|"):
            end = index
            while lines[end].startswith("|"):
                end += 1
            out.append(_table(lines[index:end]))
            index = end - 1
        elif line.startswith("- "):
            end = index
            while lines[end].startswith(("- ", "  ")):
                end += 1
            items = re.split(r"\n(?=- )", "\n".join(lines[index:end]))
            listed = "".join(f"<li>{_inline(it[2:]).replace(chr(10), '<br>')}</li>" for it in items)
            out.append(f"<ul>{listed}</ul>")
            index = end - 1
        elif line.startswith("> "):
            out.append(f"<blockquote>{_inline(line[2:])}</blockquote>")
        elif re.fullmatch(r"</?details>|<summary>.*</summary>", line):
            out.append(line)
        elif line:
            out.append(f"<p>{_inline(line)}</p>")
        index += 1
    return out


def _table(rows: list[str]) -> str:
    cells = [[_inline(it.strip()) for it in row.strip("|").split("|")] for row in rows]
    head = "".join(f"<th>{it}</th>" for it in cells[0])
    body = "".join("<tr>" + "".join(f"<td>{it}</td>" for it in row) + "</tr>" for row in cells[2:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _inline(text: str) -> str:
    escaped = html.escape(text).replace("&lt;br&gt;", "<br>")
    escaped = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escaped)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", escaped)
