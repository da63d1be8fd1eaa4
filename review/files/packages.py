"""Changed packages in pip's requirements files and in package-lock.json.

Requirements are read by pip's rules for lines and by `packaging`; a form that locks do not need is
an error, so that pip cannot read it otherwise. Nothing is resolved, downloaded or installed.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from review.files.changed_code import ChangedFile
from review.files.readers import read_json, read_text
from review.remark import NOTE, Remark
from review.values import Unreadable, format_value

REQUIREMENTS = re.compile(r"(.*/)?[^/]*requirements[^/]*\.txt|(.*/)?requirements/[^/]+\.txt")
NPM_LOCK = re.compile(r"(.*/)?package-lock\.json")

NEW_PACKAGES, LOST_PINS = "new_packages", "lost_pins"
PROTECTING_OPTION = re.compile(r"--(require-hashes|only-binary).*")


class _Pin(NamedTuple):
    """A requirement: its version specifier or URL, and its hashes."""

    version: str
    hashes: frozenset[str]

    @property
    def is_exact(self) -> bool:
        return bool(re.fullmatch(r"={2,3}[^*,]+", self.version))


def describe_packages(file: ChangedFile, files: Mapping[str, bytes]) -> Iterator[Remark]:
    """Yield the changed packages of a lock file, nothing for another file. Raise `Unreadable`.

    `files` are those after the change: other locks may have other hashes of a version.
    """
    if REQUIREMENTS.fullmatch(file.path):
        yield from _requirements_changes(file, files)
    elif NPM_LOCK.fullmatch(file.path):
        yield from _npm_changes(file)


def _requirements_changes(file: ChangedFile, files: Mapping[str, bytes]) -> Iterator[Remark]:
    """Yield new packages, removed pins and hashes, changed origins, and changed versions.

    If a file has a hash, pip requires hashes for all packages, and versions with `==` (pip's
    documentation, "Secure installs", hash-checking mode).
    """
    old, old_options = _read_requirements(file.before)
    new, new_options = _read_requirements(file.after)
    for option in sorted(new_options - old_options):
        rule = NOTE if PROTECTING_OPTION.fullmatch(option) else LOST_PINS
        yield Remark(rule, f"option {option}: new")
    for option in sorted(old_options - new_options):
        rule = LOST_PINS if PROTECTING_OPTION.fullmatch(option) else NOTE
        yield Remark(rule, f"option {option}: removed")
    has_hashes = not old or any(pin.hashes for pin in old.values())
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if after is None:
            yield Remark(NOTE, f"{name}: removed")
        elif before != after:
            if before and before.version == after.version and after.hashes - before.hashes:
                others = [*_other_hashes(name, after.version, file.path, files)]
                yield Remark(LOST_PINS, _hash_change(name, before, after, others))
            else:
                yield from _pin_change(name, before, after, has_hashes=has_hashes)


def _pin_change(name: str, old: _Pin | None, new: _Pin, *, has_hashes: bool) -> Iterator[Remark]:
    """Yield a new or changed pin; `has_hashes` tells whether the file had hashes before."""
    text = f"{name}: {old.version if old else 'none'} -> {new.version or 'any version'}"
    if not new.is_exact and (old is None or old.is_exact or old.version != new.version):
        yield Remark(LOST_PINS, f"{text}: not pinned by ==")
    elif not new.hashes and (old.hashes if old else has_hashes):
        yield Remark(LOST_PINS, f"{text}: without a hash")
    else:
        yield Remark(NOTE if old else NEW_PACKAGES, text)


def _other_hashes(
    name: str, version: str, path: str, files: Mapping[str, bytes]
) -> Iterator[frozenset[str]]:
    """Yield the hashes of a version in each other lock that has it."""
    for other_path, content in files.items():
        if other_path != path and REQUIREMENTS.fullmatch(other_path):
            with suppress(Unreadable):
                pin = _read_requirements(content)[0].get(name)
                if pin and pin.version == version:
                    yield pin.hashes


def _hash_change(name: str, old: _Pin, new: _Pin, others: list[frozenset[str]]) -> str:
    """Return the other hashes of a version as text, and which of them only this lock has."""
    removed, added = old.hashes - new.hashes, new.hashes - old.hashes
    text = f"{_first_digits(removed) or 'none'} -> {_first_digits(added)}"
    single = added.difference(*others) if others else frozenset[str]()
    only = f": only this lock has {_first_digits(single)}" if single else ""
    return f"{name}: other hashes of the same version {new.version}: {text}{only}"


def _first_digits(hashes: frozenset[str]) -> str:
    return ", ".join(sorted(value.partition(":")[2][:8] for value in hashes))


def _read_requirements(content: bytes | None) -> tuple[dict[str, _Pin], set[str]]:
    """Return name -> pin, and the options of a file. Raise `Unreadable`."""
    text = read_text(content or b"")
    if text.startswith("\ufeff") or any(map(_ENCODING.match, text.split("\n")[:2])):
        raise Unreadable("has a mark or a comment with an encoding, which pip follows")
    pins: dict[str, _Pin] = {}
    options: set[str] = set()
    for number, line in _logical_lines(text):
        if "${" in line:
            raise Unreadable(f"line {number}: pip inserts an environment variable: {line[:200]}")
        if not re.fullmatch("[ -~]+", line):
            raise Unreadable(f"line {number}: has characters that names do not have: {line[:200]}")
        if line.startswith("-"):
            options.add(line)
            continue
        requirement, *own_options = re.split(" +(?=-)", line)
        if other := [option for option in own_options if not _HASH.fullmatch(option)]:
            raise Unreadable(f"line {number}: an option that no lock needs: {other[0][:200]}")
        name, version = _split_requirement(requirement)
        if name in pins:
            raise Unreadable(f"line {number}: {name} is there twice")
        hashes = frozenset(option[len("--hash=") :] for option in own_options)
        pins[name] = _Pin(version, hashes)
    return pins, options


_ENCODING = re.compile(r"[ \t\f]*#.*?coding[:=]")
_COMMENT = re.compile(r"(^|\s+)#.*$")
_HASH = re.compile(r"--hash[= ]sha(256|384|512):[0-9a-f]+")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is not empty, without comments.

    A backslash joins a line and the next one, but not a comment and the next line (pip
    documentation, requirements-file-format). Control characters end a line, as in pip.
    """
    parts: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        is_comment = bool(_COMMENT.match(line))
        if line.endswith("\\") and not is_comment:
            parts.append(line.strip("\\"))
            continue
        whole = "".join((*parts, " " if is_comment else "", line))
        parts.clear()
        if stripped := _COMMENT.sub("", whole).strip():
            yield number, stripped
    if stripped := _COMMENT.sub("", "".join(parts)).strip():
        yield len(text.splitlines()), stripped


def _split_requirement(text: str) -> tuple[str, str]:
    """Return name and version of a requirement; for a path or a URL alone, the text twice."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return text, text
    marker = f" ; {requirement.marker}" if requirement.marker else ""
    name = f"{canonicalize_name(requirement.name)}{marker}"
    return name, requirement.url or str(requirement.specifier)


def _npm_changes(file: ChangedFile) -> Iterator[Remark]:
    """Yield new packages, other contents and locations, scripts, and changed versions."""
    old, new = (_read_npm_lock(side) for side in (file.before, file.after))
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if after is None:
            yield Remark(NOTE, f"{name}: removed")
            continue
        versions = [(side or {}).get("version", "none") for side in (before, after)]
        text = f"{name}: {versions[0]} -> {versions[1]}"
        if before is None:
            yield Remark(NEW_PACKAGES if name else NOTE, text)
        elif versions[0] != versions[1]:
            yield Remark(NOTE, text)
        for key in sorted({*after, *(before or {})} - {"version"}):
            values = [(side or {}).get(key) for side in (before, after)]
            is_content = key == "integrity" and (versions[0] != versions[1] and values[1])
            if values[0] != values[1] and key in _NPM_RISKS and not is_content:
                change = " -> ".join(map(format_value, values))
                yield Remark(LOST_PINS, f"{name}: {key}: {change}")


_NPM_RISKS = {"bundleDependencies", "hasInstallScript", "inBundle", "integrity", "link", "resolved"}
"""Keys of a locked package that tell its content, its origin, or that its scripts run."""


def _read_npm_lock(content: bytes | None) -> dict[str, dict[str, Any]]:
    """Return path -> entry of the packages. Raise `Unreadable`."""
    lock = {"packages": {}} if content is None else read_json(content)
    match lock:
        case {"packages": dict(packages)} if all(isinstance(e, dict) for e in packages.values()):
            return packages
    raise Unreadable("is not a lock file of npm")
