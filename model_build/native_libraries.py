"""Shared libraries that the native code of an archive needs from Triton's image."""

from collections import defaultdict
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

_GLIBC = ("c", "dl", "m", "pthread", "resolv", "rt", "util")
_IN_IMAGES = {
    "ld-linux-x86-64.so.2",
    *(f"lib{name}.so.{version}" for name in _GLIBC for version in (0, 1, 2, 6)),
    *("libstdc++.so.6", "libgcc_s.so.1"),
    *("libgomp.so.1", "libnuma.so.1", "libcurl.so.4", "libarchive.so.13", "libz.so.1"),
}
"""Libraries of every release's image: tritonserver's own, and those of the Debian packages that
triton-inference-server/server, build.py, installs (libgomp1 for its onnxruntime and pytorch
backends, libnuma-dev, libcurl4-openssl-dev, libarchive-dev, and zlib, which these need), at v2.14.0
(21.08), v2.22.0, v2.31.0, v2.41.0, v2.50.0, v2.61.0 and v2.69.0 (26.05)."""


def unmet_libraries(folder: Path) -> dict[str, list[str]]:
    """Return each library that neither the folder nor, for all we know, Triton's image has.

    It maps to the files that need it (DT_NEEDED, ELF gABI), by their paths in the folder. A library
    counts wherever in the folder it is: wheels bring theirs in folders of their own.
    """
    files = [path for path in sorted(folder.rglob("*.so*")) if path.is_file()]
    present = {path.name for path in files} | _IN_IMAGES
    unmet: dict[str, list[str]] = defaultdict(list)
    for path in files:
        for library in _needed(path):
            if library not in present:
                unmet[library].append(path.relative_to(folder).as_posix())
    return dict(unmet)


def missing_library_warnings(folder: Path) -> list[str]:
    """Return a line for each library of `unmet_libraries`."""
    return [
        f"{files[0]} needs {library}, which the archive does not have; whether Triton's image has "
        "it is unknown: add a package that brings it, or try it on the release's image"
        for library, files in sorted(unmet_libraries(folder).items())
    ]


def _needed(path: Path) -> list[str]:
    with path.open("rb") as file:
        try:
            elf: Any = ELFFile(file)  # type: ignore[no-untyped-call]
            segments = list(elf.iter_segments("PT_DYNAMIC"))
            return [tag.needed for part in segments for tag in part.iter_tags("DT_NEEDED")]
        except (ELFError, ValueError, LookupError, UnicodeDecodeError):
            return []  # no ELF file, such as a linker script
