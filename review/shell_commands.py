"""Commands of builds, workflows and scripts that newly download, or protect less."""

import re
from collections.abc import Iterator

from review.remark import Remark
from review.values import changed_lines

DOWNLOADS = re.compile(
    r"\b(curl|wget|nc|ncat|ftp|scp)\b|https?://|git clone|--(extra-)?index-url"
    r"|\b(pip3? install|npm (i|install)|apt(-get)? install)\b(?!.*--require-hashes)"
)
"""Commands that download files without a hash; chosen for this project."""
PROTECTING_OPTIONS = re.compile(
    r"--(require-hashes|only-binary\S*|no-deps|no-index|frozen\S*|locked|ignore-scripts|strict)"
    r"|-(e|eu|euo|euxo)|pipefail|ci"
)
"""Words of commands without which they install or accept more; chosen for this project."""
BUILDS_OF_PACKAGES = re.compile(r"--no-binary[ =]\S+|--ignore-scripts[ =]false")
"""Options with which an installation runs code of packages, such as their setup.py (pip's
documentation, pip install; npm's, npm install)."""
CHECKS = re.compile(
    r"\bmake [\w-]*(?:lint|test|docs)[\w-]*|\b(?:actionlint|cfn-lint|check-jsonschema|checkov"
    r"|lint-imports|mypy|pip-audit|pytest|ruff|shellcheck|tools\.lint\.\w+|zizmor)\b"
)
"""Programs that check this repository, and what its Makefile names so."""


def command_remarks(before: str, after: str) -> Iterator[Remark]:
    """Yield the dangers of downloads that are new, and of options and checks that are lost."""
    before, after = map(_without_comments, (before, after))
    removed, added = changed_lines(before, after)
    for line in added:
        if DOWNLOADS.search(line):
            yield Remark("build_downloads", f"newly runs: {line}")
        for option in BUILDS_OF_PACKAGES.findall(line):
            if option not in before:
                text = f"installs, and runs code of the package: {option}: {line}"
                yield Remark("lost_pins", text)
    lost_words: dict[str, list[str]] = {}
    remaining = {*after.split()}
    for line in removed:
        for word in line.split():
            if after.strip() and word not in remaining and PROTECTING_OPTIONS.fullmatch(word):
                lost_words.setdefault(line, []).append(word)
    for line, words in lost_words.items():
        yield Remark("lost_pins", f"no longer has {', '.join(dict.fromkeys(words))}: {line}")
    if lost_checks := sorted({*CHECKS.findall(before)} - {*CHECKS.findall(after)}):
        yield Remark("weakened_checks", f"no longer runs {', '.join(lost_checks)}")


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
