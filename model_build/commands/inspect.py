"""`inspect`: show the content of an archive."""

import argparse
import gzip
import importlib.metadata
import re
import tarfile
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from model_build import checks
from model_build.commands.arguments import Commands, add_command
from model_build.commands.outcome import Outcome
from model_build.errors import BuildError
from model_build.findings import errors
from model_build.formats.python.imports import PACKAGES
from model_build.manifest import Manifest, Signature
from model_build.native_libraries import missing_library_warnings
from model_build.progress import WARNING
from model_build.publishing.manifests import manifest_key
from model_build.repository import Repository

READ_BYTES = 1024 * 1024
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters of names in an archive that a terminal would execute, or cannot print; a line feed
could forge a line."""


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "inspect",
        run,
        summary="show an archive's contents, how it was tested, and its problems",
        examples=["inspect minilm-0123456789ab.tar.gz", "inspect model.tar.gz --json"],
    )
    parser.add_argument("archive", type=Path, metavar="ARCHIVE", help="a local .tar.gz")


def run(options: argparse.Namespace) -> Outcome:
    """Unpack, check and describe an archive."""
    path: Path = options.archive
    if not path.is_file():
        raise BuildError(f"{path} is not a file")
    with TemporaryDirectory(prefix="inspect-") as scratch:
        try:
            with gzip.open(path) as uncompressed, tarfile.open(fileobj=uncompressed) as tar:
                sizes = {entry.name: entry.size for entry in tar if entry.isfile()}
                _reject_unsafe_entries(path, tar)
                tar.extraction_filter = getattr(tarfile, "data_filter", None)
                tar.extractall(scratch)
                while uncompressed.read(READ_BYTES):
                    pass  # read up to gzip's checksum, which tarfile does not verify
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise BuildError(f"{path} is not a gzip tar: {error}") from None
        repository = Repository.read(Path(scratch), display_path=Path())
        findings = checks.findings(repository, checks.REPOSITORY_RULES)
        data: dict[str, Any] = {
            "archive": str(path),
            "bytes": path.stat().st_size,
            "files": sizes,
            "models": {
                name: {
                    "backend": model.backend,
                    **Signature.from_config(model.config).model_dump(),
                    "packages": _installed_packages(model.directory),
                }
                for name, model in repository.models.items()
            },
            "warnings": missing_library_warnings(repository.folder),
            "findings": [str(finding) for finding in findings],
        }
    manifest = path.with_name(manifest_key(path.name))
    if manifest.is_file():
        data["manifest"] = Manifest.model_validate_json(manifest.read_bytes()).model_dump()
    lines = map(_escape_control_characters, _format_lines(data))
    return Outcome(text="\n".join(lines), data=data, failed=bool(errors(findings)))


def _reject_unsafe_entries(path: Path, tar: tarfile.TarFile) -> None:
    """Raise `BuildError` for links and paths outside the archive.

    Python before 3.11.4, as in Debian, has no extraction filters.
    """
    for entry in tar:
        is_inside = not entry.name.startswith("/") and ".." not in entry.name.split("/")
        if not (is_inside and (entry.isreg() or entry.isdir())):
            name = _escape_control_characters(entry.name)
            raise BuildError(f"{path}: {name} is not a file or folder in the archive")


def _escape_control_characters(text: str) -> str:
    """Return a text with escaped control characters."""
    return CONTROL_CHARACTERS.sub(lambda match: repr(match[0])[1:-1], text)


def _installed_packages(model: Path) -> dict[str, str]:
    """Return the versions of the Python packages in a model's directory, by name."""
    folders = [str(path) for path in model.glob(f"*/{PACKAGES}")]
    packages = importlib.metadata.distributions(path=folders)
    return dict(sorted((package.name, package.version) for package in packages))


def _format_lines(data: dict[str, Any]) -> list[str]:
    lines: list[str] = [f"{data['archive']}: {data['bytes'] / 1e6:.1f} MB"]
    if manifest := data.get("manifest"):
        lines.append(
            f"  {manifest['model']}, built for {manifest['target']['processor']} and Triton "
            f"{manifest['target']['release']}"
        )
        for name, gate in manifest["gates"].items():
            lines.append(
                f"  gate {name}: {gate['max_absolute_difference']:.1e} of {gate['allowed']:.0e}"
            )
    for name, model in data["models"].items():
        lines.append(f"  {name} ({model['backend']}), batches up to {model['max_batch_size']}")
        for kind in ("inputs", "outputs"):
            tensors = (
                f"{tensor['name']} {tensor['datatype']} {tensor['shape']}" for tensor in model[kind]
            )
            lines.append(f"    {kind}: {', '.join(tensors)}")
        if packages := model["packages"]:
            versions = (f"{name} {version}" for name, version in packages.items())
            lines.append(f"    packages: {', '.join(versions)}")
    lines += [f"  {size:>13,}  {name}" for name, size in data["files"].items()]
    lines += [f"{WARNING} {line}" for line in data["warnings"]]
    return [*lines, *data["findings"]]
