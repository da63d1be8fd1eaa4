"""Cloud assemblies: what they may contain.

The author of a change controls their content, so names, links, sizes and types are validated.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from release.checkout import ERROR_SUFFIX, Checkout, NotSynthesised
from release.templates import SUFFIX, Template, has_transform, reads_account

ACKNOWLEDGED = "aws:cdk:acknowledged-rules"
MAX_BYTES = 8_000_000
"""Maximum bytes of a file: a template has at most 1 MB (CloudFormation quotas, "Template body
size"), and a manifest is a few times larger."""
MAX_ERROR_CHARACTERS = 10_000
"""Maximum characters of an error message of the app that the report shows."""

_STACK_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,127}")
"""Valid names of stacks (CloudFormation API reference, CreateStack, StackName)."""
_STACK_TYPE = "aws:cloudformation:stack"
"""Type of the artifacts in the manifest that are stacks."""
_DERIVED_PROPERTIES = (
    *("additionalDependencies", "requiresBootstrapStackVersion", "stackName"),
    *("stackTemplateAssetObjectUrl", "templateFile"),
)
"""Properties of a stack in the manifest that follow from its template and its name."""
_IGNORED_TYPES = ("cdk:tree", "cdk:feature-flag-report")
"""Types of artifacts that are not deployed."""
_ASSETS_SUFFIX = ".assets.json"
_ASSET_NAME = re.compile(r"[\w-][\w.-]*")
"""A valid name of a file or folder in the assembly."""


@dataclass(frozen=True)
class Synthesis:
    """The result of synthesising a stage.

    templates: stack name -> template.
    acknowledged: one line for each cdk-nag finding that the app acknowledges.
    settings: stack name -> deployment settings in the manifest.
    """

    templates: dict[str, Template]
    acknowledged: tuple[str, ...] = ()
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class SynthesisedCheckout(Checkout):
    """A checkout, with the folder of the assemblies that its app wrote."""

    assemblies: Path

    def synth(self, stage: str) -> Synthesis:
        """Return the synthesis of a stage. Raise `NotSynthesised`."""
        return read_synthesis(self.assemblies, stage)

    def error(self, stage: str) -> str:
        """Return why the app or a check of its templates failed, empty if neither did."""
        return _error(self.assemblies, stage)

    def has_assembly(self, stage: str) -> bool:
        """Return whether the app wrote an assembly, which a check may have rejected."""
        return os.path.lexists(self.assemblies / stage / "manifest.json")

    def assembly(self, stage: str) -> Synthesis:
        """Return the synthesis of a stage, also one that a check has rejected."""
        return read_assembly(self.assemblies, stage)


def read_synthesis(folder: Path, stage: str) -> Synthesis:
    """Return the synthesis of a stage. Raise `NotSynthesised`."""
    if error := _error(folder, stage):
        raise NotSynthesised(error)
    return read_assembly(folder, stage)


def _error(folder: Path, stage: str) -> str:
    file = folder / f"{stage}{ERROR_SUFFIX}"
    return _read_text(file)[:MAX_ERROR_CHARACTERS] or "no reason" if os.path.lexists(file) else ""


def read_assembly(folder: Path, stage: str) -> Synthesis:
    """Return the synthesis in the assembly of a stage.

    Each stack in the manifest must have a template of the same name, and each template a stack:
    nested stacks and nested assemblies would be deployed without a comparison.

    Raises:
        NotSynthesised: the assembly is missing or invalid.
    """
    assembly = folder / stage
    try:
        if not stat.S_ISDIR(assembly.lstat().st_mode):
            raise NotSynthesised(f"{stage}: the assembly is not a folder")
        names = {path.name for path in assembly.iterdir()}
    except FileNotFoundError:
        raise NotSynthesised(f"{stage} was not synthesised: its assembly is missing") from None
    settings, template_keys = dict[str, dict[str, Any]](), dict[str, str]()
    for stack, artifact in _stacks(_load_json(assembly / "manifest.json")):
        settings[stack], template_keys[stack] = _settings(artifact)
    suffixes = (SUFFIX, _ASSETS_SUFFIX)
    stack_files = {f"{stack}{suffix}" for stack in settings for suffix in suffixes}
    if other_files := {name for name in names - stack_files if name.endswith(suffixes)}:
        raise NotSynthesised(
            f"{', '.join(sorted(other_files))}: a template without a stack, such as of a nested "
            "stack, is not reviewed: make it a stack of its own"
        )
    for stack, stack_settings in settings.items():
        template_key = _template_key(assembly / f"{stack}{SUFFIX}")
        if template_keys[stack] not in ("", template_key):
            raise NotSynthesised(
                f"manifest.json: {stack} would be deployed from another object than its template, "
                f"{template_key}: deploy the template of the assembly"
            )
        if f"{stack}{_ASSETS_SUFFIX}" in names:
            stack_settings["assets"] = _asset_locations(
                assembly / f"{stack}{_ASSETS_SUFFIX}", template_key
            )
    templates = {stack: _load_template(assembly / f"{stack}{SUFFIX}") for stack in settings}
    acknowledged = [
        line
        for stack in sorted(settings)
        if f"{stack}.metadata.json" in names
        for line in _acknowledgements(assembly / f"{stack}.metadata.json")
    ]
    return Synthesis(templates, tuple(acknowledged), settings)


def _stacks(manifest: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and artifact of each stack. Raise `NotSynthesised` for other artifacts."""
    match manifest:
        case {"artifacts": dict(artifacts)}:
            pass
        case _:
            raise NotSynthesised("manifest.json has no artifacts")
    for name, artifact in artifacts.items():
        match artifact:
            case {"type": kind} if kind in _IGNORED_TYPES:
                continue
            case {"type": "cdk:asset-manifest", "properties": {"file": file}} if (
                file == f"{name}.json" and file.endswith(_ASSETS_SUFFIX)
            ):
                continue  # `_asset_locations` reads it with its stack
            case {"type": kind, "properties": {"templateFile": file, **properties}} if (
                kind == _STACK_TYPE
                and _STACK_NAME.fullmatch(name)
                and file == f"{name}{SUFFIX}"
                and properties.get("stackName", name) == name
            ):
                yield name, artifact
            case _:
                raise NotSynthesised(
                    f"manifest.json: {name[:128]!r}: only stacks with the template NAME{SUFFIX} "
                    "are reviewed: remove nested assemblies and other artifacts"
                )


def _settings(artifact: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the deployment settings of a stack, without `_DERIVED_PROPERTIES`.

    Also return the last part of the key of the template that is deployed; empty if it has none.
    """
    properties = artifact["properties"]
    folder, _, key = str(properties.get("stackTemplateAssetObjectUrl", "")).rpartition("/")
    settings = {
        **{name: value for name, value in properties.items() if name not in _DERIVED_PROPERTIES},
        "environment": artifact.get("environment"),
        "folder of templates": folder,
    }
    return settings, key


def _template_key(path: Path) -> str:
    """Return the last part of a template's key in the bucket of assets: the SHA-256 of its text."""
    return f"{hashlib.sha256(_read_text(path).encode()).hexdigest()}.json"


def _asset_locations(path: Path, template_key: str) -> list[str]:
    """Return the destinations of a stack's assets, with roles. Raise `NotSynthesised`.

    A deploy runs an asset's `executable`, builds its image, and uploads the file at its path (cloud
    assembly schema, FileSource and DockerImageSource): only files of the assembly are accepted.
    CloudFormation reads the template from an object that exists already, if one has its key: so the
    key of the template is its SHA-256, and no other asset has such a key.
    """
    template = f"{path.name.removesuffix(_ASSETS_SUFFIX)}{SUFFIX}"
    locations: set[str] = set()
    match _load_json(path):
        case {"files": dict(files), **other_assets} if not other_assets.get("dockerImages"):
            assets = list(files.values())
        case _:
            raise NotSynthesised(f"{path.name}: images are not reviewed: use only file assets")
    for asset in assets:
        match asset:
            case {
                "source": {"path": str(source), **options},
                "destinations": dict(destinations),
            } if (
                _ASSET_NAME.fullmatch(source)
                and options.keys() <= {"packaging"}
                and all(isinstance(value, dict) for value in destinations.values())
            ):
                keys = {_file_name(destination) for destination in destinations.values()}
                name = source.removeprefix("asset.").partition(".")[0]
                if source == template and keys != {template_key}:
                    raise NotSynthesised(
                        f"{path.name}: the key of the template is not its SHA-256, {template_key}"
                    )
                if source != template and any(
                    key.partition(".")[0] != name or key.endswith(".json") for key in keys
                ):
                    raise NotSynthesised(
                        f"{path.name}: {source}: the key of an asset is the hash in its name, and "
                        "no key of a template"
                    )
                locations.update(map(_location, destinations.values()))
            case _:
                raise NotSynthesised(
                    f"{path.name}: only assets that are files or folders of the assembly are "
                    "reviewed: remove paths outside it and programs that create assets"
                )
    return sorted(locations)


def _file_name(destination: dict[str, Any]) -> str:
    return str(destination.get("objectKey")).rpartition("/")[2]


def _location(destination: dict[str, Any]) -> str:
    """Return a destination as JSON, with the folder of the object in place of its key."""
    folder = str(destination.get("objectKey")).rpartition("/")[0]
    return json.dumps({**destination, "objectKey": folder}, sort_keys=True)


def _load_template(path: Path) -> Template:
    content = _load_json(path)
    if isinstance(content, dict) and has_transform(content):
        raise NotSynthesised(
            f"{path.name} has a transform: CloudFormation would run it, even for a change set, and "
            "deploy a template that was not reviewed: remove it"
        )
    if isinstance(content, dict) and reads_account(content):
        raise NotSynthesised(
            f"{path.name} takes a value from the account at deploy time, which may change after "
            "the review: write the value, without {{resolve:...}} and AWS::SSM parameter types"
        )
    match content:
        case {"Resources": dict(resources)} if all(map(_is_resource, resources.values())):
            template: Template = content
            return template
    raise NotSynthesised(f"{path.name} is not a template with resources")


def _is_resource(value: Any) -> bool:
    match value:
        case {"Type": str(kind)}:
            attributes = [value.get(name, {}) for name in ("Properties", "Metadata")]
            is_nested_stack = kind == "AWS::CloudFormation::Stack"
            return not is_nested_stack and all(isinstance(item, dict) for item in attributes)
    return False


def _acknowledgements(path: Path) -> Iterator[str]:
    """Yield one line for each acknowledgement in the metadata of constructs."""
    try:
        for construct, entries in sorted(_load_json(path).items()):
            for entry in entries:
                if entry["type"] == ACKNOWLEDGED:
                    for finding, reason in sorted(entry["data"].items()):
                        rule = finding.removeprefix("Annotation::")
                        yield f"cdk-nag: {construct.removeprefix('/')}: {rule}: {reason}"
    except (AttributeError, KeyError, TypeError):
        raise NotSynthesised(f"{path.name} is not metadata of constructs") from None


def _load_json(path: Path) -> Any:
    try:
        return json.loads(_read_text(path), object_pairs_hook=_to_object)
    except (ValueError, RecursionError):
        raise NotSynthesised(f"{path.name} is not JSON, or has a duplicate key") from None


def _to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raise `ValueError` for a duplicate key, because parsers differ."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def _read_text(path: Path) -> str:
    """Return the text of a file that is not a link. Raise `NotSynthesised`."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
                raise NotSynthesised(f"{path.name} is not a file of at most {MAX_BYTES:,} bytes")
            return file.read().decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise NotSynthesised(f"{path.name} cannot be read: {reason}") from None
