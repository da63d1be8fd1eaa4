from pathlib import Path

from tests.mutants.mutant import mutants

ROOT = Path(__file__).parents[2]


def test_every_mutant_can_still_be_tried() -> None:
    assert [fault for mutant in mutants() for fault in mutant.faults(ROOT)] == []


def test_no_two_mutants_are_the_same() -> None:
    listed = mutants()
    assert len({it.name for it in listed}) == len(listed)
    assert len({(it.file, it.old, it.new) for it in listed}) == len(listed)
