"""The release reads back what a recipe's environment writes."""

import re
from functools import partial
from pathlib import Path

from packaging.version import Version

import checked_yaml
import platform_facts
from model_build import recipe
from model_build.export.step import Writer
from model_build.findings import Place, Problems
from model_build.source import ModelSource
from model_build.target import BuildTarget, newer_release_hint

_PIN = re.compile(r"\s*(?P<package>[\w.-]+)\s*==\s*(?P<version>[\w.!+]+)")


def environment_versions(source: ModelSource, target: BuildTarget) -> Problems:
    """An environment pins what writes its format, no newer than the target's release has it.

    Sources: torch is forward compatible for two weeks (pytorch/pytorch wiki, PyTorch's Python
    Frontend Backward and Forward Compatibility Policy), TensorFlow for three
    (tf.compat.forward_compatible); DALI writes operators that older ones do not know
    (NVIDIA/DALI#2933). All three read what older versions wrote.
    """
    release = platform_facts.release(target.release)
    for keys, file, step in source.steps():
        _, made = recipe.for_target(file, step, target)
        writer = made.writer
        if writer is None or source.files.get(file) is not step:
            continue
        name = getattr(made, str(made.requirements_key))
        line = checked_yaml.line_of(source.folder / recipe.FILE, *keys, file, "environment")
        place = Place(source.folder / recipe.FILE, line)
        pins = _pins(source.folder / name, writer)
        if not pins:
            yield (
                place,
                f"{file}: {name} pins no {writer.name}, which writes the file: add "
                f"{_readable(writer.name, release)}",
            )
        for pinned_at, package, version in pins:
            has = getattr(release, writer.name)
            if has is not None and _order(version) > _order(has):
                yield (
                    place,
                    f"{file}: {name}:{pinned_at} pins {package}=={version}, Triton {release.name} "
                    f"has {has}, which need not read what a newer one wrote: write "
                    f"{_readable(writer.name, release)}"
                    + newer_release_hint(partial(_has, writer.name, version)),
                )


def _pins(environment: Path, writer: Writer) -> list[tuple[int, str, str]]:
    """Return line, name and version of each line that pins a package of that name."""
    lines = enumerate(environment.read_text(encoding="utf-8").splitlines(), start=1)
    matches = [(number, _PIN.match(line)) for number, line in lines]
    return [
        (number, match["package"], match["version"])
        for number, match in matches
        if match and re.fullmatch(writer.packages, match["package"].lower())
    ]


def _order(version: str) -> Version:
    """What is compared: the commit behind the plus says nothing of age."""
    return Version(Version(version).public)


def _readable(name: str, release: platform_facts.Release) -> str:
    has = getattr(release, name)
    if has is None:
        return f"the {name} to use"
    bound = _order(has)
    if bound.is_prerelease:
        return f"a {name} before {bound.base_version}"
    return f"{name} {bound} or older"


def _has(name: str, version: str, release: platform_facts.Release) -> bool:
    has = getattr(release, name)
    return has is not None and _order(has) >= _order(version)
