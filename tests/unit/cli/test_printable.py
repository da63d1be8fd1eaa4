from cli.printable import printable


def test_a_terminal_is_told_nothing_and_no_line_passes_for_another() -> None:
    assert printable("red \x1b[31mX\x07\x9b") == "red \\x1b[31mX\\x07\\x9b"
    assert printable("one\nE0101 forged\r\n") == "one\n    E0101 forged"
    assert printable("tabs\tand ä stay") == "tabs\tand ä stay"
