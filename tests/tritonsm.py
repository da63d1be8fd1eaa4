"""`tritonsm` commands run in the test process."""

from cli.dispatch import parse_command


def tritonsm(arguments: list[str]) -> int:
    """Run a command; return its exit code."""
    return parse_command(arguments)()
