"""Removal of identifiers of accounts and persons from a report."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

RULES = {
    # "Understanding unique ID prefixes" (IAM user guide, reference_identifiers)
    r"\b(ABIA|ACCA|AGPA|AIDA|AIPA|AKIA|ANPA|ANVA|APKA|AROA|ASCA|ASIA)[A-Z0-9]{12,}\b": "<id>",
    r"(?<=:)(assumed-role|federated-user|user)/[^\s\"']+": r"\1/<caller>",
    r"[\w.+%-]+@[\w-]+(\.[\w-]+)+": "<mail>",
    r"(?i)([?&]X-Amz-[\w-]+)=[^&\s\"']+": r"\1=<removed>",
    r"(?<!\d)\d{12}(?!\d)": "<account>",
}
"""Pattern -> replacement: ids of keys, users and roles, callers in ARNs, e-mail addresses,
signatures in URLs, and account ids, also in names of buckets and images."""
MAX_TEXT_LENGTH = 600
"""Maximum length of a text, such as a template. Texts are truncated after the replacements, because
patterns do not match half of an account id."""


def scrub(value: Any, secrets: Mapping[str, str]) -> Any:
    """Return a value for JSON, without identifiers of accounts and persons.

    `secrets` maps further texts, such as the home directory, to their replacements.
    """
    if isinstance(value, Mapping):
        return {scrub(name, secrets): scrub(member, secrets) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [scrub(item, secrets) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value.isoformat(timespec="seconds") if isinstance(value, datetime) else str(value)
    for secret, replacement in secrets.items():
        text = text.replace(secret, replacement)
    for pattern, replacement in RULES.items():
        text = re.sub(pattern, replacement, text)
    return text[:MAX_TEXT_LENGTH]
