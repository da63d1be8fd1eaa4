"""Changes of exports that CloudFormation rejects."""

from collections.abc import Iterator
from typing import Any

from release.templates import Template, references
from review.comparison import Comparison
from review.dangers.danger import Danger


def rejected_exports(comparison: Comparison) -> Iterator[Danger]:
    """A stack removes or changes an export that another deployed stack imports.

    "After another stack imports an output value, you can't delete the stack that is exporting the
    output value or modify the exported output value" (CloudFormation user guide,
    using-cfn-stack-exports). A stack that imports a value is updated after the exporting stack.
    """
    if comparison.is_moved:
        return
    before, after = comparison.templates
    imports = {stack: set(_imports(template)) for stack, template in before.items()}
    replaced_resources = {
        (change.stack, change.id)
        for change in comparison.changes
        if change.impact == "WILL_REPLACE"
    }
    for stack in sorted(before.keys() & after.keys()):
        old_exports, new_exports = _exports(before[stack]), _exports(after[stack])
        for name, value in sorted(old_exports.items()):
            is_replaced = any((stack, ref) in replaced_resources for ref in references(value))
            importers = sorted(
                other for other in before if other != stack and name in imports[other]
            )
            if importers and (is_replaced or new_exports.get(name) != value):
                change = "changed" if name in new_exports else "removed"
                yield Danger(
                    f"{stack}.{name}",
                    f"CloudFormation rejects the update of {stack}: its export {name} is {change}, "
                    f"but {', '.join(importers)} imports it",
                    group=stack,
                )


def _exports(template: Template) -> dict[str, Any]:
    """Return name -> value of a template's exports."""
    outputs = template.get("Outputs", {}).values()
    return {output["Export"]["Name"]: output["Value"] for output in outputs if "Export" in output}


def _imports(value: Any) -> Iterator[str]:
    """Yield the names of exports that a value of a template imports."""
    match value:
        case {"Fn::ImportValue": str(name)}:
            yield name
        case dict():
            yield from _imports([*value.values()])
        case list():
            for item in value:
                yield from _imports(item)
