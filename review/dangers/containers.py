"""Dangers of what a model's container runs: its image and its environment variables.

Stage files have no owner, and both can name code of other people.
"""

import re
from collections.abc import Iterator

from platform_facts import TRITON_REPOSITORY
from platform_facts.rules.server import VARIABLES, metrics_variables
from review.comparison import Comparison
from review.remark import Remark
from review.template_changes import PropertyChange

ADDITIONAL_ARGUMENTS = f"SAGEMAKER_TRITON_{VARIABLES['additional_args']}"
"""The options that AWS's `serve` passes to tritonserver."""
AMOUNT = r"-?[\d.]+|true|false"
HARMLESS_OPTION = re.compile(rf"--[a-z-]+(=({AMOUNT}|[a-z]+,[a-z-]+=\d+|\d+:\d+))?|{AMOUNT}", re.I)
"""Options with amounts: they name no file, host or model."""
HARMLESS_VALUE = re.compile(rf"[\w-]{{0,40}}|{AMOUNT}")
"""Texts that are no path, host, module or command."""
NAME_OF_METRICS = re.compile(r"[\w./#-]+")
METRICS_VARIABLES = {
    name for name, value in metrics_variables("name", "name").items() if value == "name"
}
"""Variables with the names of a log group and a namespace."""
CODE_VARIABLES = re.compile(r"PYTHON|LD_|PATH$|BROWSER$")
"""Names of variables that select code with any text."""
TRITON_IMAGE = f"/{TRITON_REPOSITORY}:"
"""AWS's images, which the release names."""


def container_dangers(comparison: Comparison, change: PropertyChange) -> Iterator[Remark]:
    """Yield an own image that changes, and variables that can select code."""
    if change.resource.type != "AWS::SageMaker::Model" or not change.resource.before:
        return
    head, _, name = change.path.rpartition(".")
    pair = comparison.endpoints.get(change.resource.stack)
    has_own_image = pair and pair.after and pair.after.settings.settings.get("image")
    is_own = has_own_image or TRITON_IMAGE not in str(change.after)
    if name == "Image" and change.before != change.after and is_own:
        yield Remark("selected_code", f"its container runs another image: {change.text}")
    if head.endswith("Environment") and change.after is not None:
        value = change.after if isinstance(change.after, str) else repr(change.after)
        if not _is_harmless(name, value):
            text = f"a variable can select other code or models: {change.text}"
            yield Remark("selected_code", text)


def _is_harmless(name: str, value: str) -> bool:
    if name == ADDITIONAL_ARGUMENTS:
        return all(HARMLESS_OPTION.fullmatch(option) for option in value.split())
    pattern = NAME_OF_METRICS if name in METRICS_VARIABLES else HARMLESS_VALUE
    return pattern.fullmatch(value) is not None and not CODE_VARIABLES.search(name)
