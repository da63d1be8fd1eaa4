"""Check that the release tag `vVERSION` matches pyproject.toml and CHANGELOG.md."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def check(tag: str, *, pyproject: str, changelog: str) -> str:
    """Return an error message, or an empty string if the versions match."""
    version = tomllib.loads(pyproject)["project"]["version"]
    newest = re.search(r"^## (\S+)", changelog, re.MULTILINE)
    heading = newest[1] if newest else "no heading"
    if tag == f"v{version}" and heading == version:
        return ""
    return (
        f"error: the tag is {tag}, pyproject.toml has {version}, and CHANGELOG.md begins with "
        f"{heading}: write one version into both files, commit, and tag it v{version}"
    )


if __name__ == "__main__":
    sys.exit(
        check(
            sys.argv[1],
            pyproject=(ROOT / "pyproject.toml").read_text(),
            changelog=(ROOT / "CHANGELOG.md").read_text(),
        )
    )
