"""New findings of checkov with high or critical severity."""

import re
from collections.abc import Iterator

from review.comparison import Comparison
from review.dangers.danger import Danger

HIGH_SEVERITY_CHECKS = frozenset({
    "CKV_AWS_3", "CKV_AWS_20", "CKV_AWS_28", "CKV_AWS_46", "CKV_AWS_57", "CKV_AWS_62",
    "CKV_AWS_79", "CKV_AWS_88", "CKV_AWS_94", "CKV_AWS_96", "CKV_AWS_97", "CKV_AWS_99",
    "CKV_AWS_100", "CKV_AWS_101", "CKV_AWS_103", "CKV_AWS_163", "CKV_AWS_192", "CKV_AWS_291",
    "CKV_AWS_364",
})  # fmt: skip
"""CloudFormation checks of checkov 3.3.30 with high or critical severity.

checkov shows severities only with a Prisma Cloud key. These are from Prisma Cloud's policy
reference (docs.prismacloud.io, AWS policies, 2025-06-11).
"""

_CHECK = re.compile(r"checkov: (?P<stack>[^,]+), (?P<resource>\S+): .* \[(?P<id>CKV\w+)\]")


def high_severity_findings(comparison: Comparison) -> Iterator[Danger]:
    """Checkov has a new finding of high or critical severity; others are listed in the report."""
    for finding in comparison.findings.new:
        check = _CHECK.fullmatch(finding)
        if check and check["id"] in HIGH_SEVERITY_CHECKS:
            yield Danger(f"{check['stack']}.{check['resource']}.{check['id']}", finding)
