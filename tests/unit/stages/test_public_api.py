import types

import stages


def test_all_names_everything_public_and_nothing_else() -> None:
    public = {
        name
        for name, value in vars(stages).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert sorted(stages.__all__) == sorted(public)


def test_every_public_name_is_explained() -> None:
    for name in stages.__all__:
        assert getattr(stages, name).__doc__, name
