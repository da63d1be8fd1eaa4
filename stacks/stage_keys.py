"""Where a stage's file says what a construct refuses."""

from collections.abc import Iterator
from contextlib import contextmanager

import checked_yaml
from triton_sagemaker import InvalidEndpoint


@contextmanager
def naming_keys(name: str) -> Iterator[None]:
    """Raise `InvalidEndpoint` as `checked_yaml.Misfits`: with keys, from the top of a stage's file.

    `name` is the endpoint's short name. What stands nowhere in the file is named as the construct
    names it, at the endpoint.
    """
    try:
        yield
    except InvalidEndpoint as error:
        problems = (
            (("endpoints", name, *it.path), it.what if it.path else str(it))
            for it in error.problems
        )
        raise checked_yaml.Misfits(list(dict.fromkeys(problems))) from None  # once, not a variant
