"""The templates of one stage, and what the app acknowledges in them."""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from release.review import inputs, packages
from release.tree import SUFFIX, NotSynthesised, Template, Tree, templates

ACKNOWLEDGED = "aws:cdk:acknowledged-rules"
OUT = Path("review.out")

KEPT = 6
"""Templates of a stage that are kept for the next review: two of each of the last three."""

_KEEPING = Lock()


@dataclass(frozen=True)
class Synthesis:
    """What an app makes of a stage.

    `templates` is stack name -> template, `acknowledged` has a line for each finding of cdk-nag
    that the app acknowledges, None where nobody knows.
    """

    templates: dict[str, Template]
    acknowledged: tuple[str, ...] | None = None


def synthesis_of(tree: Tree, stage: str, *, clone: Path | None = None) -> Synthesis:
    """Let a tree's app make the templates of a stage, with the packages that the tree pins.

    They are kept below the `clone` that is reviewed, the tree itself where none is given, by the
    digest of all that they are made of. Raises `NotSynthesised`; refused templates are left there.
    """
    folder = (clone or tree.root) / OUT
    digest = inputs.digest_of(tree, stage)
    kept = folder / "templates" / stage / f"{_key(digest)}.json" if digest else None
    if kept and kept.is_file():
        kept.touch()
        content = json.loads(kept.read_text())
        return Synthesis(content["templates"], tuple(content["acknowledged"]))
    synthesis = _made(tree, stage, folder, Path("refused", "base" if clone else "head", stage))
    if kept:
        _keep(synthesis, kept)
    return synthesis


def _key(digest: str) -> str:
    """Return what else an app may see: Python, and the variables that it or the CDK reads."""
    seen = sorted(it for it in os.environ.items() if it[0].startswith(("CDK_", "TRITON_")))
    return hashlib.sha256(repr((digest, sys.version, seen)).encode()).hexdigest()[:16]


def _keep(synthesis: Synthesis, kept: Path) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    part = kept.with_suffix(".part")
    part.write_text(json.dumps(asdict(synthesis)))
    with _KEEPING:
        part.rename(kept)
        known = kept.parent.glob("*.json")
        for old in sorted(known, key=lambda it: it.stat().st_mtime, reverse=True)[KEPT:]:
            old.unlink()


def _made(tree: Tree, stage: str, out: Path, refused: Path) -> Synthesis:
    with TemporaryDirectory(prefix="review-") as folder:
        assembly = Path(folder)
        try:
            packages.synthesise(tree, stage, to=assembly, kept=out / "packages")
        except NotSynthesised as error:
            if not _leave(assembly, out / refused):
                raise
            raise NotSynthesised(f"{error}\nthe templates are in {OUT / refused}") from None
        return Synthesis(templates(assembly), tuple(_acknowledged(assembly)))


def _leave(assembly: Path, to: Path) -> bool:
    """Copy the templates of an app that failed, which its findings name, if there are any."""
    refused = sorted(assembly.glob(f"*{SUFFIX}"))
    shutil.rmtree(to, ignore_errors=True)
    for path in refused:
        to.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    return bool(refused)


def _acknowledged(assembly: Path) -> Iterator[str]:
    """Yield what the app acknowledges, out of the metadata of its constructs."""
    for path in sorted(assembly.glob("*.metadata.json")):
        for construct, entries in sorted(json.loads(path.read_text()).items()):
            for entry in entries:
                if entry["type"] == ACKNOWLEDGED:
                    for finding, reason in sorted(entry["data"].items()):
                        rule = finding.removeprefix("Annotation::")
                        yield f"cdk-nag: {construct.removeprefix('/')}: {rule}: {reason}"
