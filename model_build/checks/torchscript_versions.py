"""The release's PyTorch is not older than the one that wrote a TorchScript file."""

import zipfile
from collections.abc import Iterator

from packaging.version import Version

import platform_facts
from model_build.findings import Place
from model_build.repository import Repository

_ADDED = {"byteorder": Version("2.1")}
"""Record of a file -> the PyTorch that was the first to write it (pytorch/pytorch,
docs/source/notes/serialization.rst)."""


def torchscript_versions(
    release: platform_facts.Release, repository: Repository
) -> Iterator[tuple[Place, str]]:
    """A TorchScript file has no record that only a newer PyTorch than the release's writes.

    PyTorch need not read what a newer one wrote. A file does not name the version that wrote it
    (pytorch/pytorch#33307), so that this finds some of them; `to: torchscript` pins it.
    """
    if release.torch is None:
        return
    for model, path in repository.model_files("pytorch"):
        if not zipfile.is_zipfile(path):
            continue
        with zipfile.ZipFile(path) as archive:
            records = {name.rpartition("/")[2] for name in archive.namelist()}
        for record in records & _ADDED.keys():
            if Version(release.torch) < _ADDED[record]:
                yield (
                    model.file(model.inner(path)),
                    f"was written by PyTorch {_ADDED[record]} or newer, Triton {release.name} has "
                    f"{release.torch}, which need not read it: write it with that or an older one, "
                    "or choose a newer release",
                )
