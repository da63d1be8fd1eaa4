"""Masking of secrets, and of the values of requests and responses."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings

MASK = "<masked>"
_DETECTORS: Mapping[str, type] = get_mapping_from_secret_type_to_class()
PLUGINS = [
    {"name": plugin.__name__}
    for plugin in _DETECTORS.values()
    if "Entropy" not in plugin.__name__  # would mask every digest
]
PATTERNS = {
    # KMS and IAM user guides have no fixed length: "Understanding unique ID prefixes"
    r"\b(?:ABIA|ACCA|AGPA|AIDA|AIPA|AKIA|ANPA|ANVA|APKA|AROA|ASCA|ASIA)[A-Z0-9]{12,}\b": MASK,
    r"(?s)-----BEGIN [^-]*PRIVATE KEY-----.*?-----END [^-]*PRIVATE KEY-----": MASK,
    r"(?i)([?&]X-Amz-[\w-]+)=[^&\s\"']+": rf"\1={MASK}",
    r"(?<=:)(assumed-role|federated-user|user)/[^\s\"']+": rf"\1/{MASK}",
    r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+": MASK,
    r"(?<!\d)\d{12}(?!\d)": "<account>",
    # tensors of Triton's JSON protocol, also in escaped JSON
    r'(?s)(\\?"data\\?"\s*:\s*)\[.*?\](?=\s*[,}])': rf"\1[{MASK}]",
    r'(\\?"(?:b64|Body|InputAttributes|ResponseBody)\\?"\s*:\s*\\?")[^"\\]*': rf"\1{MASK}",
}
"""Pattern -> replacement, for what a scan of single lines does not know."""
VALUES = {"environment", "Environment", "EnvironmentVariables"}
"""Members of JSON whose values may be secrets."""


def masked(text: str) -> str:
    """Return a text, or JSON, without secrets, payloads, account ids and names of callers."""
    with suppress(ValueError):  # of a log
        text = json.dumps(_without_values(json.loads(text)), indent=1)
    for pattern, replacement in PATTERNS.items():
        text = re.sub(pattern, replacement, text)
    with transient_settings({"plugins_used": PLUGINS}):
        return "\n".join(map(_masked_line, text.splitlines()))


def _masked_line(line: str) -> str:
    for secret in scan_line(line):
        if secret.secret_value:
            # Detectors of tokens name their beginning only.
            line = re.sub(re.escape(secret.secret_value) + r"[\w.+/=-]*", MASK, line)
    return line


def _without_values(value: Any) -> Any:
    """Return JSON with the names of environment variables, and without their values."""
    if isinstance(value, list):
        return [_without_values(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: dict.fromkeys(member, MASK)
        if name in VALUES and isinstance(member, dict)
        else _without_values(member)
        for name, member in value.items()
    }
