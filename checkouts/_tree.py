import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from checkouts._git import CheckoutError

SUFFIX = ".template.json"


@dataclass(frozen=True)
class Stage:
    """The little of a stage's YAML that is not in its templates."""

    region: str
    production: bool


def stage_file(root: Path, stage: str) -> Stage:
    """Read a tree's stage. Raises `CheckoutError` where there is none of this name, or no region.

    Everything else in the file is the app's to check.
    """
    path = root / "stages" / f"{stage}.yaml"
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Stage(str(content["region"]), bool(content.get("production")))
    except FileNotFoundError:
        raise CheckoutError(f"there is no stages/{stage}.yaml") from None
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise CheckoutError(f"stages/{stage}.yaml has no region: {error}") from None


def import_path(root: Path) -> str:
    """Return the PYTHONPATH that lets a tree's own packages come before the installed ones."""
    return os.pathsep.join([str(root), str(root / "constructs")])


def templates(assembly: Path) -> dict[str, Any]:
    """Return stack name -> template, out of the cloud assembly in a folder."""
    return {
        path.name.removesuffix(SUFFIX): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(assembly.glob(f"*{SUFFIX}"))
    }
