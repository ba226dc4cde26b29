"""Mutation plan: existing files in each group, and stable mutant names."""

import pytest

from tests.mutants.plan import ROOT, Mutant, equivalents, groups, sample


@pytest.mark.parametrize("group", groups().values(), ids=groups())
def test_every_pattern_of_a_group_matches_files(group):
    for pattern in (*group.modules, *group.tests):
        assert list(ROOT.glob(pattern)), pattern


def test_every_pure_package_is_mutated():
    modules = {ROOT / path for group in groups().values() for path in group.files()}
    for package in ("ranking", "receipts", "metrics", "files", "reports", "disclosure"):
        assert set((ROOT / "grader" / package).rglob("*.py")) <= modules, package


def test_every_equivalent_has_an_existing_function_and_a_reason():
    for each in equivalents().values():
        folders = ["grader", *each.function.split(".")[1:-1]]
        places = [ROOT.joinpath(*folders[:end]).with_suffix(".py") for end in (len(folders), -1)]
        (file,) = [path for path in places if path.exists()]
        text = file.read_text()
        assert f"def {each.function.rpartition('.')[2]}(" in text
        lines = [line.strip() for line in text.splitlines()]
        assert set(each.was.splitlines()) <= set(lines), each.function
        assert each.why


def mutant(was, becomes, number=1, path="grader/a.py"):
    return Mutant(f"grader.a.xǁBoardǁrank__mutmut_{number}", path, was, becomes)


def test_mutant_is_identified_by_its_function_and_change():
    assert mutant("a < b", "a <= b").function == "grader.a.Board.rank"
    assert mutant("a < b", "a <= b", 1).identity == mutant("a < b", "a <= b", 7).identity
    assert Mutant("grader.a.x__of__mutmut_2", "grader/a.py", "", "").function == "grader.a._of"


def test_mutant_that_only_changes_letters_of_a_sentence_only_rewords():
    assert mutant('raise Gone("It is gone.")', 'raise Gone("XXIt is gone.XX")').only_rewords
    assert mutant('raise Gone("It is gone.")', 'raise Gone("IT IS GONE.")').only_rewords
    assert not mutant('name == "usage"', 'name == "XXusageXX"').only_rewords
    assert not mutant('raise Gone("It is gone.")', "raise Gone(None)").only_rewords


def test_sample_is_reproducible_and_grows():
    mutants = [mutant("a", str(number), number, f"grader/{'ab'[number % 2]}.py") for number in range(40)]
    few, more = (sample(mutants, size) for size in (3, 5))
    assert len(few) == 6
    assert set(few) == set(sample(mutants[::-1], 3))
    assert set(few) < set(more)
    assert set(sample(mutants, 0)) == set(mutants)


def test_another_seed_selects_another_sample():
    mutants = [mutant("a", str(number), number) for number in range(40)]
    samples = [sample(mutants, 5, seed) for seed in (1, 2, 1)]
    assert samples[0] == samples[2] != samples[1]


def test_no_module_is_in_two_groups():
    files = [path for group in groups().values() for path in group.files()]
    assert len(files) == len(set(files))
