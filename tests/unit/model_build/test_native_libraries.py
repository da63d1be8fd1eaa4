"""Shared libraries that the ELF files of an archive need."""

import struct
from pathlib import Path

from model_build.native_libraries import missing_library_warnings


def shared_object(*libraries: str) -> bytes:
    """Return an ELF file that needs libraries by DT_NEEDED (ELF gABI, chapter 5)."""
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in libraries)
    entries, offset = [], 1
    for name in libraries:
        entries.append((1, offset))  # DT_NEEDED
        offset += len(name) + 1
    header, program = 64, 56
    dynamic = header + 2 * program
    size = 16 * (len(entries) + 3)
    entries += [(5, dynamic + size), (10, len(strings)), (0, 0)]  # DT_STRTAB, DT_STRSZ, DT_NULL
    file_size = dynamic + size + len(strings)
    return (
        b"\x7fELF\x02\x01\x01" + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, header, 0, 0, header, program, 2, 64, 0, 0)
        + struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, file_size, file_size, 4096)  # PT_LOAD
        + struct.pack("<IIQQQQQQ", 2, 6, dynamic, dynamic, dynamic, size, size, 8)  # PT_DYNAMIC
        + b"".join(struct.pack("<qQ", *entry) for entry in entries)
        + strings
    )  # fmt: skip


def write(folder: Path, **libraries: tuple[str, ...]) -> Path:
    """Write shared objects, given as path (with __ for /) -> needed libraries."""
    for name, needed_libraries in libraries.items():
        path = folder / f"{name.replace('__', '/')}.so"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(shared_object(*needed_libraries))
    return folder


def test_library_of_another_package_is_accepted(tmp_path: Path) -> None:
    assert missing_library_warnings(write(tmp_path, a__b=("c.so",), d__libs__c=())) == []


def test_files_that_are_not_elf_are_ignored(tmp_path: Path) -> None:
    for name, content in {"a.so": b"GROUP ( libc.so.6 )", "b.so": b"\x7fELF", "c.so": b""}.items():
        (tmp_path / name).write_bytes(content)
    assert missing_library_warnings(tmp_path) == []
