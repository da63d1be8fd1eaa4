"""The commands of `python -m model_build` and of `tritonsm`, one a module.

Each has `add_to(commands)`, which adds its parser; the parser's `run` takes the parsed options,
prints the `Outcome` of the module's own `run`, and returns the exit code.
"""

from model_build.commands import build, inspect, lint, listing, publish, retire, rollback
from model_build.commands.outcome import Outcome

COMMANDS = (listing, lint, build, inspect, publish, rollback, retire)

__all__ = ["COMMANDS", "Outcome"]
