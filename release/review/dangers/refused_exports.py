"""Changes of exports that CloudFormation rejects."""

from collections.abc import Iterator
from typing import Any

from release.review.comparison import Comparison
from release.review.dangers.danger import Danger
from release.template_resources import references
from release.tree import Template


def refused_exports(comparison: Comparison) -> Iterator[Danger]:
    """A stack removes or changes an export that another deployed stack imports.

    "After another stack imports an output value, you can't delete the stack that is exporting the
    output value or modify the exported output value" (CloudFormation user guide,
    using-cfn-stack-exports). A stack that imports a value is updated after the exporting stack.
    """
    if comparison.moves:
        return
    before, after = comparison.templates
    imported = {stack: set(_imports(template)) for stack, template in before.items()}
    replaced = {
        (change.stack, change.id)
        for change in comparison.changes
        if change.impact == "WILL_REPLACE"
    }
    for stack in sorted(before.keys() & after.keys()):
        old, new = _exported(before[stack]), _exported(after[stack])
        for name, value in sorted(old.items()):
            is_replaced = any((stack, item) in replaced for item in references(value))
            stays = new.get(name) == value and not is_replaced
            users = sorted(user for user in before if user != stack and name in imported[user])
            if users and not stays:
                change = "changed" if name in new else "removed"
                yield Danger(
                    f"{stack}.{name}",
                    f"CloudFormation rejects the update of {stack}: its export {name} is {change}, "
                    f"but {', '.join(users)} imports it",
                    group=stack,
                )


def _exported(template: Template) -> dict[str, Any]:
    """Return name -> value of a template's exports."""
    outputs = template.get("Outputs", {}).values()
    return {output["Export"]["Name"]: output["Value"] for output in outputs if "Export" in output}


def _imports(value: Any) -> Iterator[str]:
    """Yield the names that a part of a template imports."""
    match value:
        case {"Fn::ImportValue": str(name)}:
            yield name
        case dict():
            for part in value.values():
                yield from _imports(part)
        case list():
            for part in value:
                yield from _imports(part)
