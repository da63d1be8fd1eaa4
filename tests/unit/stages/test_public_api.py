import types

import stages


def test_all_lists_exactly_the_public_names() -> None:
    public = {
        name
        for name, value in vars(stages).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert sorted(stages.__all__) == sorted(public)


def test_every_public_name_has_a_docstring() -> None:
    for name in stages.__all__:
        assert getattr(stages, name).__doc__, name
