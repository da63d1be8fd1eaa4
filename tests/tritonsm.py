"""Commands of `tritonsm` in this process."""

from cli.dispatch import read


def tritonsm(arguments: list[str]) -> int:
    """Run a command; return its exit code."""
    return read(arguments)()
