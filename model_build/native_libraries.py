"""Shared libraries that native code in an archive needs and Triton's image may not have."""

from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

_GLIBC_LIBRARIES = ("c", "dl", "m", "pthread", "resolv", "rt", "util")
_LIBRARIES_IN_IMAGES = {
    "ld-linux-x86-64.so.2",
    *(f"lib{name}.so.{version}" for name in _GLIBC_LIBRARIES for version in (0, 1, 2, 6)),
    *("libstdc++.so.6", "libgcc_s.so.1"),
    *("libgomp.so.1", "libnuma.so.1", "libcurl.so.4", "libarchive.so.13", "libz.so.1"),
}
"""Shared libraries that every release's image has.

tritonserver itself needs glibc and the compiler's runtime (libstdc++, libgcc_s). The others are in
Debian packages that build.py of triton-inference-server/server installs: libgomp1, libnuma-dev,
libcurl4-openssl-dev, libarchive-dev and zlib. Checked in build.py of v2.14.0 (21.08), v2.22.0,
v2.31.0, v2.41.0, v2.50.0, v2.61.0 and v2.69.0 (26.05).
"""


def missing_library_warnings(folder: Path) -> list[str]:
    """Return a warning for each library that neither the folder nor any known image has.

    Libraries are those that ELF files name (DT_NEEDED, ELF gABI). A library may be anywhere in the
    folder: wheels have their own library folders.
    """
    files = [path for path in sorted(folder.rglob("*.so*")) if path.is_file()]
    available_libraries = {path.name for path in files} | _LIBRARIES_IN_IMAGES
    path_by_library = {
        library: path for path in reversed(files) for library in _needed_libraries(path)
    }
    return [
        f"{path.relative_to(folder).as_posix()} needs {library}, which the archive does not have; "
        "whether Triton's image has it is unknown: add a package that contains it, or try "
        "the archive on the release's image"
        for library, path in sorted(path_by_library.items())
        if library not in available_libraries
    ]


def _needed_libraries(path: Path) -> list[str]:
    """Return the libraries that an ELF file names; none for other files, such as linker scripts."""
    with path.open("rb") as file:
        try:
            elf: Any = ELFFile(file)  # type: ignore[no-untyped-call]
            segments = list(elf.iter_segments("PT_DYNAMIC"))
            return [tag.needed for segment in segments for tag in segment.iter_tags("DT_NEEDED")]
        except (ELFError, ValueError, LookupError, UnicodeDecodeError):
            return []
