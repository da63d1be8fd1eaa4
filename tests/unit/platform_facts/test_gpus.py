import pytest

from platform_facts import ComputeCapability, UnknownFact, codebuild_gpu, gpu, gpus, release


def test_the_gpus_are_listed_from_the_oldest_on() -> None:
    capabilities = [row.compute_capability for row in gpus()]
    assert capabilities == sorted(capabilities)


def test_a10g_is_what_codebuild_has_and_t4_the_oldest_that_current_releases_run_on() -> None:
    assert codebuild_gpu().compute_capability == ComputeCapability(8, 6)
    current = release("26.05")
    assert [row.name for row in gpus() if current.runs_on(row.compute_capability) is False] == [
        "K80",
        "V100",
    ]


def test_an_unknown_gpu_is_refused_with_all_names() -> None:
    with pytest.raises(UnknownFact, match=r'no GPU "A10": did you mean A10G or A100\? Known: K80'):
        gpu("A10")
