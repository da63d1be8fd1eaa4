"""Secrets in texts, by detect-secrets, without its entropy detectors: they report every digest."""

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings

NOT_SCANNED = re.compile(r"(.*/)?(tests|docs|requirements)/.*|(.*/)?[^/]*(requirements|lock)[^/]*")
"""Paths of files with hashes, or with examples of secrets."""
TOKEN_NAME = re.compile(r"token(?!iz)|credential|passphrase", re.IGNORECASE)
TOKEN = re.compile(r"(?=.*\d)(?=.*[G-Zg-z])[\w+/=.-]{16,}")
"""A value of 16 characters or more with digits, which is no digest: a secret
if its name is that of a token."""
URL_PASSWORD = re.compile(r"(?<=://)[^\s/:@]+:([^\s/@]+)@")
"""A password in a URL: the detector of detect-secrets takes none with a character such as `!`."""
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
            for line in str(value).splitlines():
                yield f'{key} = "{line}"'


def secrets(line: str) -> Iterator[tuple[str, str]]:
    """Yield kind and value of each secret in a line, or in a string of `strings`."""
    key, _, value = line.partition(" = ")
    if TOKEN_NAME.search(key) and TOKEN.fullmatch(value.strip('"')):
        yield "Secret Keyword", value.strip('"')
    for match in URL_PASSWORD.finditer(line):
        if len(match[1]) >= MIN_LENGTH and not match[1].startswith(("$", "{", "<")):
            yield "Basic Auth Credentials", match[1]
    for kind, pattern in detected(line):
        for match in pattern.finditer(line):
            if len(match[0]) >= MIN_LENGTH:
                yield kind, match[0]
