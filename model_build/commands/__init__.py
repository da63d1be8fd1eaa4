"""The commands of `python -m model_build`, one a module.

Each has `add_to(commands)`, which adds its parser; the parser's `run` takes the parsed options and
returns an `Outcome`.
"""

from model_build.commands import build, inspect, lint, listing, publish, retire, rollback
from model_build.commands.outcome import Outcome

COMMANDS = (listing, lint, build, inspect, publish, rollback, retire)

__all__ = ["COMMANDS", "Outcome"]
