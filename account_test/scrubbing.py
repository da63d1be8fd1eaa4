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
"""Patterns with what takes their place: ids of keys, users and roles, callers in ARNs, mail
addresses, signatures in URLs, and account ids, also in names of buckets and images."""
LONGEST_TEXT = 600
"""Characters of a text, such as a template, that are kept. It is cut last: half of an account id is
no account id to a pattern."""


def scrub(value: Any, secrets: Mapping[str, str]) -> Any:
    """Return a value as JSON has it, without what identifies an account or a person.

    `secrets` are texts that are known, such as the home directory, with what takes their place.
    """
    if isinstance(value, Mapping):
        return {scrub(name, secrets): scrub(member, secrets) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [scrub(item, secrets) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value.isoformat(timespec="seconds") if isinstance(value, datetime) else str(value)
    for secret, instead in secrets.items():
        text = text.replace(secret, instead)
    for pattern, instead in RULES.items():
        text = re.sub(pattern, instead, text)
    return text[:LONGEST_TEXT]
