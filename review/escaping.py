"""Functions that escape foreign texts: markup and links in a report, commands on a terminal."""

import re

_MARKUP = re.compile(r"(?<!\*)\*(?!\*)|[<`\\&|]|\](?=[\[(])|^\[|~(?=~)|^[>=~]|^[#+-](?!\w)")
"""Characters that are markup in Markdown, except **, which marks names in the report."""
_NUMBERED = re.compile(r"^(\d+)([.)])")
_ADDRESS = re.compile(r"(\b[a-z][a-z0-9+]*://[\w./?=%&~:#@!+,-]*\w)")
_LINKS = re.compile(r"(?<!\w)@(?=\w)|:(?=//)|\bwww(?=\.)")
"""Characters after which GitHub detects mentions and links (GitHub Flavored Markdown, "Autolinks").
A zero-width space after them prevents it, as in Renovate's comments."""

REORDERING = {
    character: f"U+{character:04X}"
    for character in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""Characters that change the display order of others, which could disguise a permission (Unicode
Technical Report 36, "Bidirectional Text Spoofing"; CVE-2021-42574)."""
_UNSAFE_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line feed
    f"{''.join(map(chr, REORDERING))}"
    "\ud800-\udfff]"  # surrogates, which cannot be printed: bytes of names that are not UTF-8
)
INDENT = "    "


def plain(text: str, longest: int) -> str:
    """Return a text on one line, escaped for Markdown; an address is a code span, not a link."""
    parts = _ADDRESS.split(_cut(text, longest))
    parts[::2] = [_MARKUP.sub(lambda mark: f"\\{mark[0]}", part) for part in parts[::2]]
    parts[0] = _NUMBERED.sub(r"\1\\\2", parts[0])
    parts[::2] = map(_without_links, parts[::2])
    parts[1::2] = [f"`{address}`" for address in parts[1::2]]
    return "".join(parts)


def code(text: str, longest: int) -> str:
    """Return a text as a code span, with longer delimiters if it has backticks."""
    line = _cut(text, longest)
    marks = fence(line, at_least=1)
    return f"{marks}{line}{marks}" if len(marks) == 1 else f"{marks} {line} {marks}"


def not_bold(text: str) -> str:
    """Return a text in which ** does not mark a name of the report."""
    return text.replace("**", "*\N{ZERO WIDTH SPACE}*")


def fence(text: str, *, at_least: int = 3) -> str:
    """Return a delimiter with more backticks than any sequence of them in a text."""
    return "`" * max(at_least, *(len(row) + 1 for row in re.findall("`+", text)), 0)


def _cut(text: str, longest: int) -> str:
    """Return a text on one line; of a longer one, `longest` characters and " ..."."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[:longest]} ..."


def _without_links(text: str) -> str:
    return _LINKS.sub("\\g<0>\N{ZERO WIDTH SPACE}", text)


def escape(text: str) -> str:
    """Return a text with escaped unsafe characters; the escapes are valid in JSON strings."""
    return _UNSAFE_CHARACTERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def printable(text: str) -> str:
    """Return a text with escaped unsafe characters and indented continuation lines.

    A new line could imitate a line of the program.
    """
    return escape(text.rstrip("\r\n")).replace("\n", f"\n{INDENT}")
