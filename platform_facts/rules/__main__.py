"""Print the rules as Markdown: `python -m platform_facts.rules`."""

import importlib
import pkgutil

from platform_facts import rules

HEADER = """\
# Rules

Value ranges of [stage](stages.md) files, and rules between their values. `tritonsm stages` and
every synth check them and report the file, line and key of an invalid value. The
[construct library](constructs.md) applies the same rules to its arguments. Types, names and
enumerations are in `stages/stage.schema.json`.

| Key | Rule | Source |
| --- | --- | --- |"""


def page() -> str:
    """Return the Markdown page, with the rules sorted by key."""
    for module in pkgutil.iter_modules(rules.__path__):
        if module.name != "__main__":
            importlib.import_module(f"{rules.__name__}.{module.name}")
    rows = sorted(
        (".".join(map(str, rule.path)), rule.statement, rule.source) for rule in rules.RULES
    )
    table = (f"| `{key}` | {statement} | {source} |" for key, statement, source in rows)
    return "\n".join([HEADER, *table, ""])


if __name__ == "__main__":
    print(page(), end="")
