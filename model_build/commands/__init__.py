"""The commands of `python -m model_build` and of `tritonsm`, one per module.

The `add_to(commands)` of a module adds its parser. The parser's default `run` takes the parsed
options, prints the `Outcome` of the module's `run`, and returns the exit code.
"""

from model_build.commands import build, build_list, lint, listing, publish, retire, rollback
from model_build.commands.outcome import Outcome

COMMANDS = (listing, lint, build, publish, rollback, retire)
BUILDER_COMMANDS = (build_list,)
"""Commands that only builds run, which `tritonsm` does not have."""

__all__ = ["BUILDER_COMMANDS", "COMMANDS", "Outcome"]
