"""Entries of the model catalog."""

from platform_facts.rules.rule import rule

MAX_BYTES = 400 * 1024 - 4096


@rule(
    "models",
    "docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html: 400 KB of an item, "
    "of which 4 KB are for the other attributes",
)
def check_catalog_entry(model: str, text: str) -> str | None:
    """A model's catalog entry, with its signature, fits into an item of the table."""
    size = len(text.encode())
    if size <= MAX_BYTES:
        return None
    return (
        f"the catalog entry of {model} has {size} bytes, an item of the table holds {MAX_BYTES}: "
        "give the model fewer or shorter tensor names"
    )
