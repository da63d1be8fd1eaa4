"""Whether the AWS CLI on PATH calls the local SageMaker once `tritonsm env` set the endpoint."""

import re
import shutil
from collections.abc import Iterator

from cli.doctor.finding import Finding, ok, warning
from cli.doctor.version import version_said

CHECK = "AWS CLI"
FIRST = {1: 29, 2: 13}
"""Major version -> the first minor one that reads AWS_ENDPOINT_URL: aws/aws-cli,
.changes/1.29.0.json and .changes/2.13.0.json. Tried: 2.9.19, Debian 12's, asks AWS itself."""

VERSION = re.compile(r"aws-cli/((\d+)\.(\d+)\S*)")


def findings() -> Iterator[Finding]:
    """Yield what was found."""
    program = shutil.which("aws")
    if program is None:
        yield ok(CHECK, "not on PATH, and nothing here needs it")
        return
    told = VERSION.match(version_said(program))
    if told is None:
        yield warning(CHECK, f"{program} does not say its version", "install it anew")
        return
    version, major, minor = told[1], int(told[2]), int(told[3])
    if minor >= FIRST.get(major, 0):
        yield ok(CHECK, version)
        return
    yield warning(
        CHECK,
        f"{version} knows no AWS_ENDPOINT_URL: it asks AWS, not the local SageMaker",
        f'{major}.{FIRST[major]} or newer, or aws --endpoint-url "$AWS_ENDPOINT_URL"',
    )
