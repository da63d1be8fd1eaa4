"""Secrets in what a change adds, and their masks in the report."""

import json
import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from plan import document
from platform_facts.rules.secrets import (
    EXAMPLES,
    GENERIC_KINDS,
    NOT_SCANNED,
    VENDORS,
    detectors,
    secrets,
    strings,
)
from release.assemblies import SynthesisedCheckout
from release.templates import SUFFIX
from review.dangers.danger import REPOSITORY, Danger, digest, merge_groups
from review.files import python_code
from review.files.model_data import read_config
from review.files.readers import read_yaml
from review.values import Unreadable, first_names

RULE = "exposed_secrets"
MASK = "<secret>"
HOST = re.compile(r"^\w+://[\w.-]+/(?=.)")
"""The beginning of a URL whose path is a secret, such as that of a webhook."""
WINDOW = 8
"""Number of characters of a secret that are masked wherever they stand, as in a cut value."""


def added_secrets(
    base: SynthesisedCheckout, head: SynthesisedCheckout, stages: list[str]
) -> tuple[list[Danger], frozenset[str]]:
    """Return a danger for each secret that a change adds, and the texts to mask in the report.

    The strings of templates, plans and of files are compared: a string of the base is not new.
    """
    old, new = (_documents(tree, stages) for tree in (base, head))
    changed = {document: text for document, text in new.items() if text != old.get(document)}
    known = {
        string for document in changed if document in old for string in _strings(*old[document])
    }
    places: dict[str, dict[str, tuple[str, str]]] = {}
    kinds: dict[str, str] = {}
    by_string: dict[str, dict[str, str]] = {}
    with detectors():
        for (stage, name), text in changed.items():
            for string in sorted(_strings(*text) - known, key=lambda text: '= "' not in text):
                if string not in by_string:
                    by_string[string] = {value: kind for kind, value in secrets(string)}
                values = by_string[string]
                if EXAMPLES.fullmatch(name):
                    values = {v: kind for v, kind in values.items() if kind not in GENERIC_KINDS}
                key, is_named, _ = string.partition(' = "')
                key = key if is_named else "a line"
                for value in values:
                    if not any(value != other and value in other for other in values):
                        kinds.setdefault(value, values[value])
                        places.setdefault(value, {}).setdefault(name, (stage, key))
    dangers = []
    for value, names in places.items():
        (first, (stage, key)), *others = names.items()
        also = f", also in {first_names([name for name, _ in others])}" if others else ""
        vendors = (name for prefix, name in VENDORS.items() if value.startswith(prefix))
        kind = next((f"token of {name}" for name in vendors), kinds[value])
        message = (
            f"{first}: {key}: a secret ({kind}){also}: revoke it, and refer to a secret of "
            "Secrets Manager instead"
        )
        dangers.append(Danger(f"{first}.{digest(value)}", message, RULE, stage, group=first))
    known_text = "\n".join(
        content.decode(errors="replace") for _, content in (old.values() if places else ())
    )
    return list(merge_groups(dangers)), parts_to_mask(places, known_text)


def _documents(
    tree: SynthesisedCheckout, stages: list[str]
) -> dict[tuple[str, str], tuple[str, bytes]]:
    """Return (stage, name) -> name and content of templates, plans and files."""
    documents = {
        (REPOSITORY, path): (path, content)
        for path, content in tree.files("--others", "--exclude-standard").items()
        if not NOT_SCANNED.fullmatch(path)
    }
    for stage in stages:
        for path in sorted(Path(tree.assemblies, stage).glob("*.json")):
            if path.name.endswith(SUFFIX) or path.name == document.FILE:
                documents[stage, path.name] = (path.name, path.read_bytes())
    return documents


@cache
def _strings(name: str, content: bytes) -> frozenset[str]:
    """Return KEY = "VALUE" for each string of YAML or JSON, or lines, and texts of Python code."""
    try:
        if name.endswith((".json", ".yaml", ".yml")):
            values = json.loads(content) if name.endswith(".json") else read_yaml(content)
            ids = values.get("Resources", {}) if name.endswith(SUFFIX) else {}
            # The CDK names policies by logical IDs, which end with hashes.
            return frozenset(
                string
                for string in strings(values)
                if string.partition(" = ")[2].strip('"') not in ids
            )
        if name.endswith("config.pbtxt"):
            return frozenset(strings(read_config(content)))
    except (Unreadable, ValueError):
        pass  # its lines are scanned
    text = "" if b"\0" in content else content.decode(errors="replace")
    lines = {line.strip() for line in text.splitlines()}
    return frozenset({*lines, *(python_code.texts(content) if name.endswith(".py") else ())})


def parts_to_mask(secrets: Iterable[str], known_text: str) -> frozenset[str]:
    """Return secrets, and all `WINDOW` characters of one that are not in a text of the base.

    A word of the base, such as the name of a construct, is no secret, also if one contains it; nor
    is the host of a URL.
    """
    whole = {HOST.sub("", secret) for secret in secrets}
    windows = {
        secret[start : start + WINDOW]
        for secret in whole
        for start in range(max(len(secret) - WINDOW, 0) + 1)
    }
    return frozenset(whole | {window for window in windows if window not in known_text})


def masked(value: Any, parts: frozenset[str]) -> Any:
    """Return a value, also a dataclass, whose texts have a mask in place of `parts_to_mask`."""
    if not parts:
        return value
    longest_first = sorted(parts, key=lambda part: (-len(part), part))
    return _masked(value, re.compile(f"(?=({'|'.join(map(re.escape, longest_first))}))"))


def _masked_text(text: str, pattern: re.Pattern[str]) -> str:
    pieces: list[str] = []
    end = 0
    for match in pattern.finditer(text):
        if match.start() > end or not pieces:
            pieces += [text[end : match.start()], MASK]
        end = max(end, match.end(1))
    return "".join((*pieces, text[end:]))


def _masked(value: Any, pattern: re.Pattern[str]) -> Any:
    match value:
        case str():
            return _masked_text(value, pattern)
        case dict():
            return {_masked(key, pattern): _masked(item, pattern) for key, item in value.items()}
        case list():
            return [_masked(item, pattern) for item in value]
        case tuple():
            return tuple(_masked(item, pattern) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return replace(value, **{name: _masked(part, pattern) for name, part in parts.items()})
    return value
