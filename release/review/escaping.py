"""Escape texts of a change: none becomes markup, a link or a mention in Markdown and HTML."""

import html
import re

_MARKS = re.compile(r"(?<!\*)\*(?!\*)|[<`\\&|]|\](?=[\[(])|^\[|~(?=~)|^[>=~]|^[#+-](?!\w)")
"""Characters that Markdown reads as markup, except for **, with which our sentences mark names."""
_NUMBERED = re.compile(r"^(\d+)([.)])")
_LINKS = re.compile(r"(?<!\w)@(?=\w)|:(?=//)|\bwww(?=\.)")
"""Characters after which GitHub detects mentions and links (GitHub Flavored Markdown, "Autolinks").
A zero-width space after them prevents it, as in Renovate's comments."""

REORDERING = {
    character: f"U+{character:04X}"
    for character in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""Characters that change the order in which others are shown, such as those of a permission
(Unicode Technical Report 36, "Bidirectional Text Spoofing"; CVE-2021-42574)."""


def plain(text: str, longest: int) -> str:
    """Return a text on one line that Markdown shows unchanged."""
    line = _MARKS.sub(lambda mark: f"\\{mark[0]}", cut(text, longest))
    return _without_links(_NUMBERED.sub(r"\1\\\2", line))


def code(text: str, longest: int) -> str:
    """Return a text as a code span, even if it has backticks."""
    line = cut(text, longest)
    marks = fence(line, at_least=1)
    return f"{marks}{line}{marks}" if len(marks) == 1 else f"{marks} {line} {marks}"


def title(text: str, longest: int) -> str:
    """Return a text for an HTML element in Markdown."""
    return _without_links(html.escape(cut(text, longest)))


def fence(text: str, *, at_least: int = 3) -> str:
    """Return more backticks than any sequence of them in a text."""
    return "`" * max(at_least, *(len(row) + 1 for row in re.findall("`+", text)), 0)


def cut(text: str, longest: int) -> str:
    """Return a text on one line, cut to its beginning if it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[:longest]} ..."


def _without_links(text: str) -> str:
    return _LINKS.sub("\\g<0>\N{ZERO WIDTH SPACE}", text)
