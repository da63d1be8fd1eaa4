"""Entries of the model catalog."""

from platform_facts.rules.rule import rule

MAX_CHARACTERS = 4096


@rule(
    "models",
    "docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html: 4 KB of a "
    "standard parameter",
)
def check_catalog_entry(model: str, text: str) -> str | None:
    """A model's catalog entry, with its signature, has at most 4,096 characters."""
    if len(text) <= MAX_CHARACTERS:
        return None
    return (
        f"the catalog entry of {model} has {len(text)} characters, an SSM standard parameter holds "
        f"{MAX_CHARACTERS}: give the model fewer or shorter tensor names"
    )
