"""The review as one HTML page: nothing is fetched, and a phone can read it."""

import html

from markdown_it import MarkdownIt

from release.review import markdown
from release.review.report import Report

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
    commonmark = MarkdownIt("commonmark", {"breaks": True, "xhtmlOut": False}).enable("table")
    body = commonmark.render(markdown.render(report))
    title = html.escape(f"Review against {report.base}")
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style></head>\n<body>\n{body}</body></html>\n"
    )
