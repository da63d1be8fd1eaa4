"""Tests of safe output of untrusted text."""

import json

from review.escaping import printable
from tests.unit.cli.conftest import run_python

HOSTILE = "\x1b]0;title\x07 \x1b[2J \x9b31m \u202edesrever\u2066 \udcff"
PRINT = f"""\
import json, sys
from rich.console import Console
from cli.printable import protect_output
protect_output()
text = {HOSTILE!a}
print(text)
print(text, file=sys.stderr)
print(json.dumps([text[:-1]], ensure_ascii=False))
console = Console(width=200, force_terminal=True, color_system="standard", highlight=False)
console.print(text, style="red", markup=False)
"""


def test_unsafe_characters_are_escaped_and_lines_indented() -> None:
    assert printable("red \x1b[31mX\x07\x9b\u202e") == r"red \u001b[31mX\u0007\u009b\u202e"
    assert printable("one\nE0101 forged\r\n") == "one\n    E0101 forged"
    assert printable("tabs\tand ä stay") == "tabs\tand ä stay"


def test_all_output_is_escaped_but_the_colours_of_rich() -> None:
    """Models, archives and AWS can return such text; `status`, `try` and errors print it."""
    escaped = r"\u001b]0;title\u0007 \u001b[2J \u009b31m \u202edesrever\u2066 \udcff"
    finished = run_python("-c", PRINT)
    plain, as_json, styled = finished.stdout.splitlines()
    assert (plain, finished.stderr) == (escaped, f"{escaped}\n")
    assert json.loads(as_json) == [HOSTILE[:-1]]
    without_bell = escaped.replace(r"\u0007", "")  # which rich removes
    assert styled == f"\x1b[31m{without_bell}\x1b[0m"


def test_tritonsm_escapes_its_messages() -> None:
    """Every command of `tritonsm` starts in `cli.__main__`."""
    finished = run_python("-m", "cli", "lint", "a\x1b[2J\u202e")
    assert finished.stderr.startswith("error: a\\u001b[2J\\u202e: no such folder: ")
