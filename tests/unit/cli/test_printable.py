"""Test of safe output of untrusted text."""

from cli.printable import printable


def test_control_characters_are_escaped_and_lines_indented() -> None:
    assert printable("red \x1b[31mX\x07\x9b") == "red \\x1b[31mX\\x07\\x9b"
    assert printable("one\nE0101 forged\r\n") == "one\n    E0101 forged"
    assert printable("tabs\tand ä stay") == "tabs\tand ä stay"
