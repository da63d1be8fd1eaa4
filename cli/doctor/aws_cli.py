"""Whether the AWS CLI on PATH asks the local AWS, where `tritonsm env` has set the endpoint."""

import re
import shutil
import subprocess
from collections.abc import Iterator

from cli.doctor.finding import Finding, ok, warning

CHECK = "AWS CLI"
FIRST = {1: 29, 2: 13}
"""Major version -> the first minor one that reads AWS_ENDPOINT_URL: aws/aws-cli,
.changes/1.29.0.json and .changes/2.13.0.json. Tried: 2.9.19, Debian 12's, asks AWS itself."""

VERSION = re.compile(r"aws-cli/((\d+)\.(\d+)\S*)")
SECONDS = 60


def findings() -> Iterator[Finding]:
    """Yield what was found."""
    program = shutil.which("aws")
    if program is None:
        yield ok(CHECK, "not on PATH, and nothing here needs it")
        return
    told = VERSION.match(_said(program))
    if told is None:
        yield warning(CHECK, f"{program} does not say its version", "install it anew")
        return
    version, major, minor = told[1], int(told[2]), int(told[3])
    if minor >= FIRST.get(major, 0):
        yield ok(CHECK, version)
        return
    yield warning(
        CHECK,
        f"{version} knows no AWS_ENDPOINT_URL: it asks AWS, not the local AWS",
        f'{major}.{FIRST[major]} or newer, or aws --endpoint-url "$AWS_ENDPOINT_URL"',
    )


def _said(program: str) -> str:
    asked = [program, "--version"]
    try:
        return subprocess.run(
            asked, capture_output=True, text=True, timeout=SECONDS, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
