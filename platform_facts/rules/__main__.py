"""Print the rules as a page of the docs: `python -m platform_facts.rules > docs/rules.md`."""

import importlib
import pkgutil

from platform_facts import rules

HEAD = """\
<!-- Made by `python -m platform_facts.rules > docs/rules.md`. -->
# Rules

What the values of a [stage](stages.md) must be together. `tritonsm stages` and every synth check
them with the line and key of the file; the [construct library](constructs.md) checks the same of
its arguments. Types, names and enumerations are in `stages/stage.schema.json`.

| Key | Must be | Source |
| --- | --- | --- |"""


def page() -> str:
    """Return the page, with the rules by their keys."""
    for module in pkgutil.iter_modules(rules.__path__):
        if module.name != "__main__":
            importlib.import_module(f"{rules.__name__}.{module.name}")
    rows = sorted(
        (".".join(map(str, rule.path)), rule.statement, rule.source) for rule in rules.RULES
    )
    table = (f"| `{key}` | {statement} | {source} |" for key, statement, source in rows)
    return "\n".join([HEAD, *table, ""])


if __name__ == "__main__":
    print(page(), end="")
