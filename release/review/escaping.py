"""Texts of a change as Markdown and HTML show them: none becomes markup, a link or a mention."""

import html
import re

_MARKS = re.compile(r"(?<!\*)\*(?!\*)|[<`\\&|]|\](?=[\[(])|^\[|~(?=~)|^[>=~]|^[#+-](?!\w)")
"""What Markdown would take for markup in a text; ** is how sentences mark a name."""
_NUMBERED = re.compile(r"^(\d+)([.)])")
_LINKS = re.compile(r"(?<!\w)@(?=\w)|:(?=//)|\bwww(?=\.)")
"""After what GitHub looks for somebody to notify, or somewhere to lead (GitHub Flavored Markdown,
"Autolinks"). A space without width between keeps it from that, as Renovate's comments do."""

REORDERING = {
    character: f"U+{character:04X}"
    for character in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""Characters that have others shown in another order than they stand, such as a permission's
(Unicode Technical Report 36, "Bidirectional Text Spoofing"; CVE-2021-42574)."""


def plain(text: str, longest: int) -> str:
    """Return a text that Markdown shows as it is, on one line: it brings no markup."""
    line = _MARKS.sub(lambda mark: f"\\{mark[0]}", cut(text, longest))
    return _without_links(_NUMBERED.sub(r"\1\\\2", line))


def code(text: str, longest: int) -> str:
    """Return a text as a code span, whatever backticks it has."""
    line = cut(text, longest)
    marks = fence(line, at_least=1)
    return f"{marks}{line}{marks}" if len(marks) == 1 else f"{marks} {line} {marks}"


def title(text: str, longest: int) -> str:
    """Return a text for an element of HTML in Markdown."""
    return _without_links(html.escape(cut(text, longest)))


def fence(text: str, *, at_least: int = 3) -> str:
    """Return more backticks than any row of them in a text."""
    return "`" * max(at_least, *(len(row) + 1 for row in re.findall("`+", text)), 0)


def cut(text: str, longest: int) -> str:
    """Return a text on one line, and of one that is too long the beginning."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[:longest]} ..."


def _without_links(text: str) -> str:
    return _LINKS.sub("\\g<0>\N{ZERO WIDTH SPACE}", text)
