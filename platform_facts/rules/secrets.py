"""Secrets in texts, by detect-secrets, without its entropy detectors: they report every digest."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from itertools import pairwise
from typing import Any

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings

NOT_SCANNED = re.compile(r"(.*/)?requirements/.*|(.*/)?[^/]*(requirements|lock)[^/]*")
"""Paths of files with hashes."""
EXAMPLES = re.compile(r"(.*/)?(tests|docs)/.*")
"""Paths of files with examples of secrets: only tokens of a vendor are secrets there."""
NAMED_KIND, TEXT_KIND, RANDOM_KIND = "Secret Keyword", "Secret in a text", "Random text"
GENERIC_KINDS = {NAMED_KIND, TEXT_KIND, RANDOM_KIND, "Basic Auth Credentials", "Private Key"}
"""Kinds of secrets that examples have."""
KEYWORDS = (
    r"token(?!iz)|credential|passphrase|passw(?:or)?d|secret|bearer"
    r"|(?:api|access|account|auth|encryption|hmac|master|private|signing)[_-]?key"
)
NAMED = re.compile(rf"(?:{KEYWORDS})\w*$|(?:^|_)(?:pw|pwd|pass)$", re.IGNORECASE)
"""Names of values that are secrets if they are tokens."""
TOKEN = re.compile(r"(?=.*\d)(?=.*[G-Zg-z])[\w+/=.!-]{10,}|(?=.*\d)(?=.*[a-f])[0-9a-f]{24,40}")
"""Letters and digits that are no name, and no digest of SHA-256."""
VENDORS = {
    "dckr_pat_": "Docker",
    "github_pat_": "GitHub",
    "hf_": "Hugging Face",
    "npm_": "npm",
    "nvapi-": "NVIDIA",
    "pypi-": "PyPI",
    "sk-ant-": "Anthropic",
    "sk-proj-": "OpenAI",
}
"""Prefix of a token -> its vendor, for tokens that detect-secrets does not know."""
EMBEDDED = (
    re.compile(r"(?<=://)[^\s/:@]*:([^\s/@]+)@"),  # detect-secrets takes none with a `!`
    re.compile(
        rf"(?:{KEYWORDS})[\w-]*[\"']?(?:\s*=\s*|: | )[\"']?(?=[^\s\"'&;,]*\d)"
        r"((?![a-z_]+(?:\.\w+)+\b)[\w+/=.!-]{8,}+)(?!\()",
        re.IGNORECASE,
    ),
    re.compile(rf"\b((?:{'|'.join(VENDORS)})[\w-]{{16,}})"),
    re.compile(r"\s(?:-u|--user)[ =][\w.-]+:([^\s:/]{6,})"),
)
"""Patterns of a secret in a text: in a URL, after its name, with the prefix of a vendor."""
RANDOM = re.compile(r"(?<![\w+/-])[\w-]*?([A-Za-z0-9+/]{24,100})={0,2}(?![\w+/])")
LOGICAL_ID_HASH = re.compile(r"[0-9A-F]{8}")
"""What the CDK appends to names in a template."""
RANDOM_CHANGES = 0.45
"""Share of neighbours of another kind (upper, lower, digit): 62 % in random texts, a third in names
that are made of words."""
EXAMPLE_KEY = re.compile(r"EXAMPLE(KEY)?$")
"""The end of the access keys and secret keys in AWS's documentation, such as AKIAIOSFODNN7EXAMPLE
(AWS Secret access keys, IAM user guide, id_credentials_access-keys)."""
MIN_LENGTH = 6
"""Minimum characters of a secret: shorter words are placeholders, and would be masked in words."""

_DETECTORS: Mapping[str, type] = get_mapping_from_secret_type_to_class()
_PLUGINS = [
    {"name": detector.__name__}
    for detector in _DETECTORS.values()
    if "Entropy" not in detector.__name__
]


def detectors() -> AbstractContextManager[object]:
    """Return a context in which `detected` and `secrets` work."""
    return transient_settings({"plugins_used": _PLUGINS})


def detected(line: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the kind of each secret in a line, and a pattern of its whole value.

    Detectors of tokens name the beginning of a value only.
    """
    for secret in scan_line(line):
        if secret.secret_value:
            yield secret.type, re.compile(re.escape(secret.secret_value) + r"[\w.+/=-]*")


def strings(value: Any, key: str = "value") -> Iterator[str]:
    """Yield KEY = "VALUE" for each line of each string in the value of a YAML or JSON file."""
    match value:
        case dict():
            name = str(value.get("Name", value.get("name", key)))
            for child_key, child in value.items():
                is_value = str(child_key).lower() in ("value", "string_value")
                yield from strings(child, name if is_value else str(child_key))
        case list():
            for item in value:
                yield from strings(item, key)
        case str() | int() if not isinstance(value, bool):
            if isinstance(value, str) and value.startswith(("{", "[")):
                with suppress(ValueError, RecursionError):
                    yield from strings(json.loads(value), key)
            for line in str(value).splitlines():
                yield f'{key} = "{line}"'


def secrets(line: str) -> Iterator[tuple[str, str]]:
    """Yield kind and value of each secret in a line, or in a string of `strings`."""
    for kind, value in _candidates(line):
        if not EXAMPLE_KEY.search(value):
            yield kind, value


def _candidates(line: str) -> Iterator[tuple[str, str]]:
    key, _, quoted = line.partition(" = ")
    value = quoted.strip('"')
    if NAMED.search(key) and TOKEN.fullmatch(value):
        yield NAMED_KIND, value
    for pattern in EMBEDDED:
        for match in pattern.finditer(line):
            if len(match[1]) >= MIN_LENGTH and not match[1].startswith(("$", "{", "<", "arn:")):
                yield TEXT_KIND, match[1]
    for match in RANDOM.finditer(line):
        if _is_random(match[1]):
            yield RANDOM_KIND, match[1]
    for kind, pattern in detected(line):
        for match in pattern.finditer(line):
            if len(match[0]) >= MIN_LENGTH:
                yield kind, match[0]


def _is_random(text: str) -> bool:
    """Return whether a text has letters of both cases and digits in no order."""
    text = LOGICAL_ID_HASH.sub("", text)
    kinds = [(char.isupper(), char.islower(), char.isdigit()) for char in text]
    changes = sum(kind != following for kind, following in pairwise(kinds))
    return len({*kinds} - {(False, False, False)}) == 3 and changes > RANDOM_CHANGES * len(text)
