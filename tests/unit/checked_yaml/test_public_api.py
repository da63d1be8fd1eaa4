import checked_yaml


def test_all_names_everything_public_and_nothing_else() -> None:
    public = {name for name in vars(checked_yaml) if not name.startswith("_")}
    assert sorted(checked_yaml.__all__) == sorted(public)


def test_every_public_name_is_explained() -> None:
    for name in checked_yaml.__all__:
        assert getattr(checked_yaml, name).__doc__, name
