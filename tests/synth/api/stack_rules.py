"""What CloudFormation demands of a template."""

import json
from collections.abc import Iterator

from tests.synth.api.calls import Calls

MOST_RESOURCES, MOST_OUTPUTS, LARGEST_BODY = 500, 200, 1024 * 1024
"""API reference, CreateStack (a template that comes from S3); CloudFormation user guide,
cloudformation-limits (the counts; from memory)."""


def templates(calls: Calls) -> Iterator[str]:
    """Templates are not too large."""
    for stack, template in calls.templates.items():
        for name, most in (("Resources", MOST_RESOURCES), ("Outputs", MOST_OUTPUTS)):
            if (count := len(template.get(name, {}))) > most:
                yield f"{stack}: {count} {name}"
        if (size := len(json.dumps(template).encode())) > LARGEST_BODY:
            yield f"{stack}: a template of {size} bytes"


RULES = (templates,)
