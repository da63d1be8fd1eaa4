"""Changes of pip's requirements files: packages, pins and hashes."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from review.files.file_change import FileChange, FileLine
from review.files.readers import read_text

_LINE_CONTINUATION = re.compile(r"\\\r?\n")
_COMMENT = re.compile(r"(^|\s)#.*")
_HASH = re.compile(r"\s--hash=(\S+)")
REQUIRE_HASHES = "--require-hashes"


class _Pin(NamedTuple):
    """A requirement: its version specifier or URL, and its hashes."""

    version: str
    hashes: frozenset[str]

    @property
    def is_exact(self) -> bool:
        return bool(re.fullmatch(r"={2,3}[^*,]+", self.version))


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield removed pins and hashes, changed origins of packages, and changed versions.

    If a file has a hash, pip requires hashes for all packages, and versions with `==` (pip's
    documentation, "Secure installs", hash-checking mode).
    """
    (old, old_options), (new, new_options) = _read(change.before), _read(change.after)
    for option in sorted(new_options - old_options):
        yield FileLine(
            f"option {option}: new", rule="" if option == REQUIRE_HASHES else "lost_pins"
        )
    for option in sorted(old_options - new_options):
        yield FileLine(
            f"option {option}: removed", rule="lost_pins" if option == REQUIRE_HASHES else ""
        )
    has_hashes = any(pin.hashes for pin in old.values())
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if after is None:
            yield FileLine(f"{name}: removed")
        elif before != after:
            yield _pin_line(name, before, after, has_hashes)


def _pin_line(name: str, old: _Pin | None, new: _Pin, has_hashes: bool) -> FileLine:
    """Describe a new or changed pin; `has_hashes` tells whether the file had hashes before."""
    versions = f"{name}: {old.version if old else 'none'} -> {new.version or 'any version'}"
    if not new.is_exact and (old is None or old.is_exact or old.version != new.version):
        return FileLine(f"{versions}: not pinned by ==", rule="lost_pins")
    if not new.hashes and (old.hashes if old else has_hashes):
        return FileLine(f"{versions}: without a hash", rule="lost_pins")
    if old and old.version == new.version:
        if new.hashes - old.hashes:
            return FileLine(
                f"{name}: new hashes for the same version {new.version}", rule="lost_pins"
            )
        return FileLine(f"{name}: fewer hashes of {new.version}")
    return FileLine(versions, harmless=bool(old and old.is_exact and _is_newer(old, new)))


def _is_newer(old: _Pin, new: _Pin) -> bool:
    try:
        return Version(new.version.strip("=")) > Version(old.version.strip("="))
    except InvalidVersion:  # a URL
        return False


def _read(content: bytes | None) -> tuple[dict[str, _Pin], set[str]]:
    """Return name -> pin, and the options of a file. Raise `Unreadable`."""
    pins: dict[str, _Pin] = {}
    options: set[str] = set()
    for line in _LINE_CONTINUATION.sub(" ", read_text(content or b"")).splitlines():
        text = _COMMENT.sub("", line).strip()
        requirement = _HASH.sub("", text).strip()
        if requirement.startswith("-"):
            options.add(requirement)
        elif requirement:
            name, version = _split_requirement(requirement)
            pins[name] = _Pin(version, frozenset(_HASH.findall(text)))
    return pins, options


def _split_requirement(text: str) -> tuple[str, str]:
    """Return name and version of a requirement; for a path or a URL alone, the text twice."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return text, text
    marker = f" ; {requirement.marker}" if requirement.marker else ""
    name = f"{canonicalize_name(requirement.name)}{marker}"
    return name, requirement.url or str(requirement.specifier)
