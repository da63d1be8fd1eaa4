from cli.printable import printable


def test_escape_sequences_and_newlines_are_escaped() -> None:
    assert printable("red \x1b[31mX\x07\x9b") == "red \\x1b[31mX\\x07\\x9b"
    assert printable("one\nE0101 forged\r\n") == "one\n    E0101 forged"
    assert printable("tabs\tand ä stay") == "tabs\tand ä stay"
