"""pip's requirements files: packages, pins and hashes."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from release.review.files.file_change import FileChange, FileLine
from release.review.files.readers import read_text

_CONTINUED = re.compile(r"\\\r?\n")
_COMMENT = re.compile(r"(^|\s)#.*")
_HASH = re.compile(r"\s--hash=(\S+)")
CHECKS_HASHES = "--require-hashes"


class _Pin(NamedTuple):
    """A requirement: its version specifier or URL, and its hashes."""

    version: str
    hashes: frozenset[str]

    @property
    def is_exact(self) -> bool:
        return bool(re.fullmatch(r"={2,3}[^*,]+", self.version))


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield removed pins and hashes, other origins of packages, and other versions.

    With one hash in a file, pip requires hashes for all packages; only `==` is a pin (pip's
    documentation, "Secure installs", hash-checking mode).
    """
    (old, old_options), (new, new_options) = _read(change.before), _read(change.after)
    for option in sorted(new_options - old_options):
        safe = option == CHECKS_HASHES
        yield FileLine(f"option {option}: new", "" if safe else "lost_pins")
    for option in sorted(old_options - new_options):
        yield FileLine(f"option {option}: gone", "lost_pins" if option == CHECKS_HASHES else "")
    has_hashes = any(pin.hashes for pin in old.values())
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name), new.get(name)
        if now is None:
            yield FileLine(f"{name}: gone")
        elif was != now:
            yield _line(name, was, now, has_hashes)


def _line(name: str, was: _Pin | None, now: _Pin, has_hashes: bool) -> FileLine:
    versions = f"{name}: {was.version if was else 'none'} -> {now.version or 'any version'}"
    if not now.is_exact and (was is None or was.is_exact or was.version != now.version):
        return FileLine(f"{versions}: not pinned by ==", "lost_pins")
    if not now.hashes and (was.hashes if was else has_hashes):
        return FileLine(f"{versions}: without a hash", "lost_pins")
    if was and was.version == now.version:
        if now.hashes - was.hashes:
            return FileLine(f"{name}: another content of {now.version}: other hashes", "lost_pins")
        return FileLine(f"{name}: fewer hashes of {now.version}")
    return FileLine(versions, harmless=bool(was and was.is_exact and _is_newer(was, now)))


def _is_newer(was: _Pin, now: _Pin) -> bool:
    try:
        return Version(now.version.strip("=")) > Version(was.version.strip("="))
    except InvalidVersion:  # a URL
        return False


def _read(content: bytes | None) -> tuple[dict[str, _Pin], set[str]]:
    """Return name -> pin, and the options of a file. Raise `Unreadable`."""
    pins: dict[str, _Pin] = {}
    options: set[str] = set()
    for line in _CONTINUED.sub(" ", read_text(content or b"")).splitlines():
        text = _COMMENT.sub("", line).strip()
        hashes = frozenset(_HASH.findall(text))
        bare = _HASH.sub("", text).strip()
        if bare.startswith("-"):
            options.add(bare)
        elif bare:
            name, version = _parts(bare)
            pins[name] = _Pin(version, hashes)
    return pins, options


def _parts(text: str) -> tuple[str, str]:
    """Return name and version of a requirement; the text itself for a URL or path."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return text, text
    marker = f" ; {requirement.marker}" if requirement.marker else ""
    return canonicalize_name(requirement.name) + marker, requirement.url or str(
        requirement.specifier
    )
