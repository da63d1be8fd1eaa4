"""The detectors of secrets, of detect-secrets: without those that find every digest."""

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings

_DETECTORS: Mapping[str, type] = get_mapping_from_secret_type_to_class()
_PLUGINS = [
    {"name": detector.__name__}
    for detector in _DETECTORS.values()
    if "Entropy" not in detector.__name__
]


def detectors() -> AbstractContextManager[object]:
    """Return a context in which `detected` works."""
    return transient_settings({"plugins_used": _PLUGINS})


def detected(line: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the kind of each secret in a line, and a pattern of its whole value.

    Detectors of tokens name the beginning of a value only.
    """
    for secret in scan_line(line):
        if secret.secret_value:
            yield secret.type, re.compile(re.escape(secret.secret_value) + r"[\w.+/=-]*")
