from pathlib import Path

from tests.mutants.mutant import mutants

ROOT = Path(__file__).parents[2]


def test_every_mutant_can_still_be_tried() -> None:
    assert [fault for mutant in mutants() for fault in mutant.faults(ROOT)] == []


def test_no_two_mutants_are_the_same() -> None:
    listed = mutants()
    assert len({each.name for each in listed}) == len(listed)
    assert len({(each.file, each.old, each.new) for each in listed}) == len(listed)
