"""A release: the cloud assemblies of all stages of a commit, and `release.json` with their digests.

The folder of a release has for each stage the cloud assembly STAGE/, with copies of the stage's
file and of the models' golden files, or the file STAGE.error. `release.json` has the SHA-256 of
each file, and the git tree that they were synthesised from. The digest of a release covers both,
and not the commit: a squash or a merge of the same tree has the same digest.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Self

from release.checkout import ERROR_SUFFIX, CheckoutError

FILE = "release.json"
VERSION = 1
"""The version of `release.json` that this code writes and reads."""


class InvalidRelease(CheckoutError):
    """A release is incomplete, was changed, or is not the expected one."""


@dataclass(frozen=True)
class ReleaseArtefact:
    """A release in `folder`.

    files: path below `folder` -> SHA-256.
    tree: the git tree, None if it was built from uncommitted changes or outside of a clone.
    commit, ancestors: the commit of the tree, and the newest commits that it contains.
    """

    folder: Path
    files: Mapping[str, str]
    tree: str | None = None
    commit: str | None = None
    ancestors: tuple[str, ...] = ()
    version: int = VERSION

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of version, tree and file digests, in JSON with sorted keys."""
        content = {"version": self.version, "tree": self.tree, "files": dict(self.files)}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """The first characters of the digest and the commit, for messages."""
        return f"{self.digest[:12]} (commit {self.commit[:12] if self.commit else 'none'})"

    @classmethod
    def of_folder(
        cls,
        folder: Path,
        *,
        tree: str | None,
        commit: str | None,
        ancestors: tuple[str, ...] = (),
    ) -> Self:
        """Write `release.json` for the files of a folder, and return the release."""
        paths = sorted(path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
        files = {
            path.relative_to(folder).as_posix(): hashlib.sha256(_read(path)).hexdigest()
            for path in paths
            if path != folder / FILE
        }
        release = cls(folder, files, tree, commit, ancestors)
        (folder / FILE).write_text(release.to_json(), encoding="utf-8")
        return release

    @classmethod
    def load(cls, folder: Path, *, expected: str | None = None) -> Self:
        """Return the release in a folder, whose digest must be `expected`. Raise `InvalidRelease`.

        Files are compared with their digests by `verified_copy`.
        """
        try:
            content = json.loads(_read(folder / FILE))
        except FileNotFoundError:
            raise InvalidRelease(
                f"{folder} has no {FILE}: build a release there (tritonsm release build), or name "
                "the folder of one"
            ) from None
        except ValueError:
            raise InvalidRelease(f"{folder / FILE} is not JSON") from None
        release = cls.parse(folder, content)
        if expected is not None and release.digest != expected:
            raise InvalidRelease(
                f"the release in {folder} has the digest {release.digest}, and {expected} is "
                "expected: it is another release, or was changed after its review"
            )
        return release

    @classmethod
    def parse(cls, folder: Path, content: Any) -> Self:
        """Return a release from the content of `release.json`. Raise `InvalidRelease`."""
        match content:
            case {"version": int(version)} if version != VERSION:
                raise InvalidRelease(
                    f"{folder / FILE} has version {version}, and this code reads {VERSION}: use "
                    "the code of another commit"
                )
            case {
                "version": int(version),
                "tree": str() | None as tree,
                "commit": str() | None as commit,
                "ancestors": list(ancestors),
                "files": dict(files),
            }:
                pass
            case _:
                raise InvalidRelease(f"{folder / FILE} is not the description of a release")
        for name, digest in files.items():
            if not _is_inside(name) or not isinstance(digest, str):
                raise InvalidRelease(f"{folder / FILE}: {name!r:.200}: not a path in the release")
        return cls(folder, files, tree, commit, tuple(map(str, ancestors)), version)

    def to_json(self) -> str:
        """Return the content of `release.json`."""
        content = {name: value for name, value in asdict(self).items() if name != "folder"}
        return f"{json.dumps(content, indent=1, sort_keys=True)}\n"

    def part(self, stage: str) -> dict[str, str]:
        """Return path -> SHA-256 of the files of a stage."""
        return {
            name: digest
            for name, digest in self.files.items()
            if name.startswith(f"{stage}/") or name == f"{stage}{ERROR_SUFFIX}"
        }

    def read(self, name: str) -> bytes:
        """Return the content of a file, which must have its digest. Raise `InvalidRelease`."""
        try:
            content = _read(self.folder / name)
        except OSError as error:
            raise InvalidRelease(f"{self.folder / name} cannot be read: {error.strerror}") from None
        if hashlib.sha256(content).hexdigest() != self.files[name]:
            raise InvalidRelease(f"{self.folder / name} was changed after the release was built")
        return content

    @contextmanager
    def verified_copy(self, *stages: str) -> Iterator[Path]:
        """Provide a private copy of the files of stages, which have their digests.

        The cdk CLI writes locks and caches into the folder of an assembly. All files have the same
        mode, which a digest does not cover. Raise `InvalidRelease`.
        """
        with TemporaryDirectory(prefix="release-") as name:
            folder = Path(name).resolve()
            for stage in stages:
                for file in self.part(stage):
                    path = folder / file
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(self.read(file))
                    path.chmod(0o644)
            yield folder


def _is_inside(name: str) -> bool:
    """Return whether a path is relative and in its normal form, without `..`."""
    parts = PurePosixPath(name).parts
    is_normal = name == "/".join(parts) and not name.startswith("/") and "\0" not in name
    return bool(parts) and is_normal and ".." not in parts and name != FILE


def _read(path: Path) -> bytes:
    """Return the content of a regular file, not of a link. Raise `OSError`, `InvalidRelease`."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InvalidRelease(f"{path} is not a file: a release has only files and folders")
        return file.read()
