"""The review as one HTML page: nothing is fetched, and a phone can read it.

It is the Markdown, with what a reader looks for first above it, and a picture of each stage.
"""

import html
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from release.review import markdown, picture
from release.review.report import Report

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Nothing runs or is fetched, whatever the texts of a review were made to say."""

STYLE = """
:root { color-scheme: light dark; --page: #fff; --card: #fff; --text: #1b1f24; --quiet: #57606a;
  --line: #d0d7de; --link: #0550ae; --danger: #a40e26; --danger-tint: #fff0f0;
  --new: #0f5c2e; --new-tint: #e3f5e9; --removed: #a40e26; --removed-tint: #fdeaec;
  --changed: #744800; --changed-tint: #fff2d6; --same: #4f5862; --same-tint: #eef1f4; }
@media (prefers-color-scheme: dark) {
  :root { --page: #0f1419; --card: #161d25; --text: #e6edf3; --quiet: #a3adb8;
    --line: #35404c; --link: #8ab8ff; --danger: #ff9b9b; --danger-tint: #2e1618;
    --new: #7ee2a0; --new-tint: #12301f; --removed: #ff9b9b; --removed-tint: #3a1618;
    --changed: #f2c66d; --changed-tint: #352a10; --same: #a9b3bd; --same-tint: #222b35; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 0 auto; padding: 1rem;
  background: var(--page); color: var(--text); }
h1, h2, h3, p { overflow-wrap: anywhere; }
a { color: var(--link); }
a:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
[id] { scroll-margin-top: 1rem; }
:target { outline: 2px solid var(--link); outline-offset: 4px; border-radius: .2rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { border: 1px solid #8888; padding: .3rem .6rem; text-align: left; vertical-align: top; }
code, pre { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { overflow-x: auto; overflow-wrap: normal; background: #8881; padding: .6rem; }
li { overflow-wrap: anywhere; }
summary { cursor: pointer; padding: .4rem 0; }
blockquote { border-left: 4px solid #8888; margin: 0; padding-left: 1rem; }
.first { display: grid; gap: .8rem; margin: 1rem 0; }
.first ul { margin: .3rem 0 0; padding-left: 1.2rem; }
.dangers { border: 1px solid var(--danger); border-radius: .5rem; padding: .8rem 1rem;
  background: var(--danger-tint); }
.dangers strong, .dangers a { color: var(--danger); }
.first .states { display: flex; flex-wrap: wrap; gap: .5rem; list-style: none; padding: 0; }
.states a { text-decoration: none; }
"""


def render(report: Report) -> str:
    """Return the page."""
    commonmark = MarkdownIt("commonmark", {"breaks": True, "xhtmlOut": False}).enable("table")
    tokens = commonmark.parse(markdown.render(report))
    _name_items(tokens, report)
    body = commonmark.renderer.render([*_with_pictures(tokens, report)], commonmark.options, {})
    title = html.escape(f"Review against {report.base}")
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}{picture.STYLE}</style></head>\n"
        f"<body>\n{body}</body></html>\n"
    ).translate(markdown.REORDERING)


def _with_pictures(tokens: list[Token], report: Report) -> Iterator[Token]:
    """Put what comes first below the title, and each stage's picture below its heading."""
    below = {_read(markdown.plain(it.stage)): picture.render(it) for it in report.stages}
    added = ""
    for token in tokens:
        yield token
        if token.type == "heading_open":
            added = _first(report) if token.tag == "h1" else ""
        elif token.type == "inline":
            added = added or below.pop(_read(token.content), "")
        elif token.type == "heading_close" and added:
            yield Token("html_block", "", 0, content=added)


def _first(report: Report) -> str:
    """Return what must not be missed: what was not reviewed, dangers, the endpoints that change."""
    parts = [*_gaps(report), *_dangers(report), *_endpoints(report)]
    return "\n".join(['<div class="first">', *parts, "</div>\n"]) if parts else ""


def _gaps(report: Report) -> Iterator[str]:
    if not report.is_complete:
        what = html.escape(", ".join(it.what for it in report.gaps))
        yield f'<p class="dangers"><strong>Not reviewed: {what}</strong></p>'


def _dangers(report: Report) -> Iterator[str]:
    links = [
        f'<li><a href="#{picture.danger_id(danger)}">{html.escape(danger.message)}</a></li>'
        for danger, by in report.every_danger
        if by is None
    ]
    if links:
        count = f"{len(links)} danger{'' if len(links) == 1 else 's'}"
        yield f'<div class="dangers"><strong>{count}</strong>\n<ul>{"".join(links)}</ul></div>'


def _endpoints(report: Report) -> Iterator[str]:
    every = [(stage, it) for stage in report.stages for it in stage.endpoints]
    links = [
        f'<li><a href="#{picture.box(stage, it)}">{picture.badge(it.state, it.name)}</a></li>'
        for stage, it in every
        if it.state != "unchanged"
    ]
    if links:
        rest = len(every) - len(links)
        more = f"<li>{rest} unchanged</li>" if rest else ""
        yield f'<ul class="states" aria-label="Endpoints">{"".join(links)}{more}</ul>'


def _name_items(tokens: list[Token], report: Report) -> None:
    """Give the items of endpoints and dangers the ids that links lead to, by what they say."""
    ids: dict[str, list[str]] = {}
    for danger, by in report.every_danger:
        said = _read(f"{'✅' if by else '❌'} {markdown.plain(danger.message)}")
        ids.setdefault(said, []).append(picture.danger_id(danger))
    for stage in report.stages:
        for endpoint, sentence in zip(stage.endpoints, stage.sentences, strict=False):
            ids.setdefault(_read(markdown.plain(sentence)), []).append(
                picture.sentence(stage, endpoint)
            )
    for item, inline in zip(tokens, tokens[2:], strict=False):
        if item.type == "list_item_open" and inline.type == "inline":
            waiting = ids.get(_read(inline.content.partition("\n")[0]))
            if waiting:
                item.attrSet("id", waiting.pop(0))


def _read(text: str) -> str:
    """Return a text without what Markdown may have done to it."""
    return "".join(it for it in text if it not in "\\*")
