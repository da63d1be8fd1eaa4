from functools import cache

from platform_facts._tables import read_table


def serve_option_since(option: str) -> str | None:
    """Return the first release whose `serve` supports an option; None: all releases do.

    `option` is a name in `triton_sagemaker.ServerOptions`. Source: releases.toml.
    """
    return _since().get(option)


@cache
def _since() -> dict[str, str]:
    return {row["name"]: row["since"] for row in read_table("releases.toml")["serve_option"]}
