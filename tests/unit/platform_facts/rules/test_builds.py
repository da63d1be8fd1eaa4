"""Assets with the folders of models."""

from collections import Counter

from platform_facts.rules.builds import MAX_BUNDLED_BYTES, source_assets

FOLDERS = {f"model-{number:04}": (f"{number:064x}", 1_000) for number in range(1_000)}


def test_1_000_small_folders_share_16_assets() -> None:
    counts = Counter(source_assets("prod", FOLDERS).values())
    assert len(counts) == 16
    assert max(counts.values()) < 100
    assert all(key.startswith("prod/") and key.endswith(".zip") for key in counts)


def test_change_of_a_folder_changes_only_its_asset() -> None:
    before = source_assets("prod", FOLDERS)
    after = source_assets("prod", FOLDERS | {"model-0007": ("f" * 64, 1_000)})
    changed = {name for name, key in after.items() if key != before[name]}
    neighbours = {name for name, key in before.items() if key == before["model-0007"]}
    assert changed == neighbours
    assert len(set(before.values()) - set(after.values())) == 1


def test_large_folder_has_an_asset_of_its_own() -> None:
    folders = FOLDERS | {"model-0007": ("f" * 64, MAX_BUNDLED_BYTES + 1)}
    assert (
        Counter(source_assets("prod", folders).values())[
            source_assets("prod", folders)["model-0007"]
        ]
        == 1
    )


def test_name_of_a_folder_is_part_of_its_asset() -> None:
    first, second = (source_assets("prod", {name: ("f" * 64, 1)})[name] for name in "ab")
    assert first != second
