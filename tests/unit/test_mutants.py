from pathlib import Path

from tests.mutants.mutant import mutants

ROOT = Path(__file__).parents[2]


def test_every_mutant_is_applicable() -> None:
    assert [fault for mutant in mutants() for fault in mutant.faults(ROOT)] == []


def test_mutants_are_unique() -> None:
    listed = mutants()
    assert len({mutant.name for mutant in listed}) == len(listed)
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in listed}) == len(listed)
