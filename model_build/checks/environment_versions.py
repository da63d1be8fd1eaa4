"""The rules for the versions that a recipe's requirements files pin."""

import re
from functools import partial
from pathlib import Path

from packaging.version import Version

import platform_facts
from model_build import recipe
from model_build.export.pip import lock_command
from model_build.export.step import Writer
from model_build.findings import Location, Problems
from model_build.formats.python import MADE_FOR, PythonPackages
from model_build.source import ModelSource
from model_build.target import BuildTarget, newer_release_hint
from platform_facts.rules import checked_yaml

_PIN = re.compile(r"\s*(?P<package>[\w.-]+)\s*==\s*(?P<version>[\w.!+]+)")


def environment_versions(source: ModelSource, target: BuildTarget) -> Problems:
    """An environment pins the library that writes the file, no newer than in the release's image.

    Sources: torch is forward compatible for two weeks (pytorch/pytorch wiki, PyTorch's Python
    Frontend Backward and Forward Compatibility Policy), TensorFlow for three
    (tf.compat.forward_compatible); DALI writes operators that older versions do not have
    (NVIDIA/DALI#2933). All three read files of older versions.
    """
    release = platform_facts.release(target.release)
    for keys, file, step in source.steps():
        _, target_step = recipe.step_for_target(file, step, target)
        writer = target_step.writer
        if writer is None or source.files.get(file) is not step:
            continue
        name = getattr(target_step, str(target_step.requirements_key))
        line = checked_yaml.line_of(source.folder / recipe.FILE, *keys, file, "environment")
        location = Location(source.folder / recipe.FILE, line)
        pins = _find_pins(source.folder / name, writer)
        if not pins:
            yield (
                location,
                f"{file}: {name} pins no {writer.name}, which writes the file: add "
                f"{_describe_readable_versions(writer.name, release)}",
            )
        for line_number, package, version in pins:
            image_version = getattr(release, writer.name)
            if image_version is not None and _parse(version) > _parse(image_version):
                yield (
                    location,
                    f"{file}: {name}:{line_number} pins {package}=={version}, Triton "
                    f"{release.name} has {image_version}, which may not read files of newer "
                    "versions: "
                    f"write {_describe_readable_versions(writer.name, release)}"
                    + newer_release_hint(partial(_has_version, writer.name, version)),
                )


def locked_pythons(source: ModelSource, target: BuildTarget) -> Problems:
    """Packages are locked for the Python that runs the model.

    Wheels with native code fit one version of Python, and a build installs only listed hashes.
    """
    python = target.python or platform_facts.release(target.release).python
    version = ".".join(python.split(".")[:2])
    for keys, file, step in source.steps():
        if not isinstance(step, PythonPackages) or source.files.get(file) is not step:
            continue
        text = (source.folder / step.requirements).read_text(encoding="utf-8")
        comment = re.search(rf"^{re.escape(MADE_FOR)} (?P<versions>[\d., ]*\d)", text, re.M)
        if comment and version not in comment["versions"].split(", "):
            line = checked_yaml.line_of(source.folder / recipe.FILE, *keys, file, "requirements")
            yield (
                Location(source.folder / recipe.FILE, line),
                f"{file}: {step.requirements} is locked for Python {comment['versions']}, and "
                f"{target} has {version}: {lock_command(source.folder, '--python', version)}, or "
                "choose a release with another Python",
            )


def _find_pins(environment: Path, writer: Writer) -> list[tuple[int, str, str]]:
    """Return line number, package and version of each pin of the writer's packages."""
    lines = enumerate(environment.read_text(encoding="utf-8").splitlines(), start=1)
    matches = [(number, _PIN.match(line)) for number, line in lines]
    return [
        (number, match["package"], match["version"])
        for number, match in matches
        if match and re.fullmatch(writer.packages, match["package"].lower())
    ]


def _parse(version: str) -> Version:
    """Return a version without its local part, such as the commit, which has no order."""
    return Version(Version(version).public)


def _describe_readable_versions(name: str, release: platform_facts.Release) -> str:
    """Return the versions that write files for a release, as a part of a message."""
    image_version = getattr(release, name)
    if image_version is None:
        return f"the {name} to use"
    limit = _parse(image_version)
    if limit.is_prerelease:
        return f"a {name} before {limit.base_version}"
    return f"{name} {limit} or older"


def _has_version(name: str, version: str, release: platform_facts.Release) -> bool:
    image_version = getattr(release, name)
    return image_version is not None and _parse(image_version) >= _parse(version)
