"""The templates of one stage, and what the app acknowledges in them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from release.tree import Template, Tree, templates

ACKNOWLEDGED = "aws:cdk:acknowledged-rules"


@dataclass(frozen=True)
class Synthesis:
    """What an app makes of a stage.

    `templates` is stack name -> template, `acknowledged` has a line for each finding of cdk-nag
    that the app acknowledges, None where nobody knows.
    """

    templates: dict[str, Template]
    acknowledged: tuple[str, ...] | None = None


def synthesis_of(tree: Tree, stage: str) -> Synthesis:
    """Let a tree's app make the templates of a stage. Raises `NotSynthesised`."""
    with TemporaryDirectory(prefix="review-") as folder:
        assembly = Path(folder)
        tree.synthesise(stage, to=assembly)
        return Synthesis(templates(assembly), tuple(_acknowledged(assembly)))


def _acknowledged(assembly: Path) -> Iterator[str]:
    """Yield what the app acknowledges, out of the metadata of its constructs."""
    for path in sorted(assembly.glob("*.metadata.json")):
        for construct, entries in sorted(json.loads(path.read_text()).items()):
            for entry in entries:
                if entry["type"] == ACKNOWLEDGED:
                    for finding, reason in sorted(entry["data"].items()):
                        rule = finding.removeprefix("Annotation::")
                        yield f"cdk-nag: {construct.removeprefix('/')}: {rule}: {reason}"
