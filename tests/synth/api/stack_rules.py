"""What CloudFormation demands of a template."""

import json
from collections.abc import Iterator

from stacks.template_limits import MAX_BYTES, MAX_RESOURCES
from tests.synth.api.calls import Calls

MOST_OUTPUTS = 200
"""CloudFormation user guide, cloudformation-limits."""


def templates(calls: Calls) -> Iterator[str]:
    """Templates are not too large."""
    for stack, template in calls.templates.items():
        for name, most in (("Resources", MAX_RESOURCES), ("Outputs", MOST_OUTPUTS)):
            if (count := len(template.get(name, {}))) > most:
                yield f"{stack}: {count} {name}"
        if (size := len(json.dumps(template).encode())) > MAX_BYTES:
            yield f"{stack}: a template of {size} bytes"


RULES = (templates,)
