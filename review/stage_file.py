"""The little that a review must know of a stage beyond its templates."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from review.templates import STAGES, NotSynthesised


@dataclass(frozen=True)
class StageFile:
    """What the stage's YAML says; synth has checked it."""

    production: bool
    region: str

    @classmethod
    def read(cls, root: Path, stage: str) -> "StageFile":
        """Read a tree's stage. Raises `NotSynthesised` where it has none of this name."""
        path = root / STAGES / f"{stage}.yaml"
        if not path.is_file():
            raise NotSynthesised(f"there is no {STAGES}/{stage}.yaml")
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return cls(production=bool(content.get("production")), region=content["region"])
