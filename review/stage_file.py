"""The little that a review must know of a stage beyond its templates."""

from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True)
class StageFile:
    """`production` as the stage's YAML says it; synth has checked the file."""

    production: bool

    @classmethod
    def read(cls, root: Path, stage: str) -> "StageFile":
        """Read a tree's stage."""
        content = yaml.safe_load((root / "stages" / f"{stage}.yaml").read_text(encoding="utf-8"))
        return cls(production=bool(content.get("production")))
