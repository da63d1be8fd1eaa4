"""`tritonsm` commands run in the test process."""

from cli.dispatch import read


def tritonsm(arguments: list[str]) -> int:
    """Run a command; return its exit code."""
    return read(arguments)()
