"""What a command has to say."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`text` for people, `data` for `--json`; `failed` makes the exit code 1."""

    text: str
    data: Any
    failed: bool = False
