"""Masking of secrets, and of the values of environment variables, requests and responses."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, quote_plus

from platform_facts.rules.secrets import detected, detectors

MASK = "<masked>"
PATTERNS = {
    # KMS and IAM user guides have no fixed length: "Understanding unique ID prefixes"
    r"\b(?:ABIA|ACCA|AGPA|AIDA|AIPA|AKIA|ANPA|ANVA|APKA|AROA|ASCA|ASIA)[A-Z0-9]{12,}\b": MASK,
    r"(?s)-----BEGIN [^-]*PRIVATE KEY-----.*?-----END [^-]*PRIVATE KEY-----": MASK,
    r"(?i)([?&]X-Amz-[\w-]+)=[^&\s\"']+": rf"\1={MASK}",
    r"(?<=:)(assumed-role|federated-user|user)/[^\s\"']+": rf"\1/{MASK}",
    r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+": MASK,
    r"(?<!\d)\d{12}(?!\d)": "<account>",
}
"""Pattern -> replacement, for what a scan of single lines does not know."""
VALUES = {"environment", "Environment", "EnvironmentVariables"}
"""Members of JSON whose values may be secrets."""
MIN_LENGTH = 4
COMMON_VALUES = {"true", "false", "none", "null"}
"""Values in lower case that would mask words everywhere, and are no secrets."""
PAYLOAD = re.compile(
    r"""(\\*)(["'])(?:data|b64|\w+_contents|text_input|text_output|prompt|instances|predictions"""
    r"""|Body|InputAttributes|OutputAttributes|ResponseBody)\1\2\s*:\s*"""
)
"""Keys with values of requests and responses: of Triton's protocols (KServe's v2 protocol and its
generate extension), and of SageMaker's API. JSON in JSON has backslashes before its quotes."""
TOKEN = re.compile(r"""\\*["']|[\[\]{},\n]""")


def variable_values(texts: Iterable[str]) -> set[str]:
    """Return the values to mask of all environment variables in JSON texts.

    Values of variables SAGEMAKER_* are settings. A value of several lines is also masked by line,
    as logs have it.
    """
    values = set()
    for text in texts:
        with suppress(ValueError):  # of a log
            for variables in _variables(json.loads(text)):
                for name, value in variables.items():
                    if not name.startswith("SAGEMAKER_"):
                        values |= {str(value), *str(value).splitlines()}
    return {
        value for value in values if len(value) >= MIN_LENGTH and value.lower() not in COMMON_VALUES
    }


def masked(text: str, values: Collection[str] = ()) -> str:
    """Return a text, or JSON, without secrets, payloads, account ids and names of callers.

    `values` are masked, too, also where they are escaped for JSON or for an address.
    """
    with suppress(ValueError):  # of a log
        text = json.dumps(_without_values(json.loads(text)), indent=1)
    for form in sorted({form for value in values for form in _forms(value)}, key=len)[::-1]:
        text = text.replace(form, MASK)
    text = _without_payloads(text)
    for pattern, replacement in PATTERNS.items():
        text = re.sub(pattern, replacement, text)
    with detectors():
        return "\n".join(map(_masked_line, text.splitlines()))


def _variables(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the environment variables in JSON."""
    for name, member in value.items() if isinstance(value, dict) else ():
        if name in VALUES and isinstance(member, dict):
            yield member
    members = value.values() if isinstance(value, dict) else value
    for member in members if isinstance(value, dict | list) else ():
        yield from _variables(member)


def _forms(value: str) -> Iterator[str]:
    """Yield a value as it is, in an address, and in JSON, which may be a text in JSON again."""
    yield from (value, quote(value), quote(value, safe=""), quote_plus(value))
    for ensure_ascii in (True, False):
        escaped = value
        for _ in range(3):
            escaped = json.dumps(escaped, ensure_ascii=ensure_ascii)[1:-1]
            yield escaped


def _without_payloads(text: str) -> str:
    """Return a text with a mask instead of each value of a request or a response."""
    kept, start = [], 0
    while match := PAYLOAD.search(text, start):
        slashes, mark = match.groups()
        kept += [text[start : match.end()], f"{slashes}{mark}{MASK}{slashes}{mark}"]
        start = _end_of_value(text, match.end(), len(slashes))
    return "".join([*kept, text[start:]])


def _end_of_value(text: str, start: int, slashes: int) -> int:
    """Return the end of a JSON or Python value, whose quotes have `slashes` before them.

    A quote within a text has more: 1, 3, 7, ... are those of texts in texts. The value of a
    shortened text ends with its line.
    """
    depth, opening = 0, ""
    for token in TOKEN.finditer(text, start):
        mark, before = token[0][-1], len(token[0]) - 1
        if mark in "\"'":
            if before % (2 * slashes + 2) != slashes or opening not in ("", mark):
                continue
            opening = "" if opening else mark
            if opening or depth:
                continue
            return token.end()
        if opening:
            continue
        if mark in "[{":
            depth += 1
        elif mark in "]}" and depth:
            depth -= 1
            if not depth:
                return token.end()
        elif not depth:  # of a number
            return token.start()
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _masked_line(line: str) -> str:
    for _, pattern in detected(line):
        line = pattern.sub(MASK, line)
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
