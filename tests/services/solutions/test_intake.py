"""Solution intake: secret split, identities, rejected solutions."""

import numpy as np
import pytest

from fairboard import MetricSettings
from grader.files import RowIds, read_solution
from grader.models import Split
from grader.services.competitions.metric import Rules
from grader.services.solutions.assessment import UnusableSolution
from grader.services.solutions.intake import StoredSolution
from grader.services.solutions.report import odd_ids
from grader.services.solutions.truth import PRIVATE, PUBLIC, Truth, split_in_half
from grader.storage.stores import LocalStorage
from tests.fixtures import stored_solutions


@pytest.fixture
def storage(tmp_path):
    return LocalStorage(tmp_path / "blobs")


@pytest.fixture
def store(storage):
    def store(csv: bytes, **options) -> StoredSolution:
        solution = read_solution(csv)
        return stored_solutions.store_new(storage, solution, **({"split_key": b"key"} | options))

    return store


def truth_of(storage, stored):
    return Truth.from_bytes(storage.read(stored.prepared_sha256))


def strata(rows, seed=3):
    generator = np.random.default_rng(seed)
    ids = [str(1000 + row) for row in range(rows)]
    positive = generator.random(rows) < 0.3
    members = {name: generator.random(rows) < share for name, share in (("a", 0.3), ("b", 0.05))}
    return ids, positive, members


def test_usage_column_is_kept_unchanged(store, storage, solution_csv):
    stored = store(solution_csv())
    assert (stored.row_count, stored.public_row_count, stored.private_row_count) == (400, 200, 200)
    codes = {b"Public": PUBLIC, b"Private": PRIVATE}
    written = [codes[line.rpartition(b",")[2]] for line in solution_csv().splitlines()[1:]]
    assert truth_of(storage, stored).usage.tolist() == written
    assert stored.report["split_by"] == "usage"


def test_blobs_contain_the_whole_solution(store, storage, solution_csv):
    csv = (
        solution_csv().replace(b"r5,0,0", b"r5,0,").replace(b"r5,1,0", b"r5,1,").replace(b"r5,1,1", b"r5,1,")
    )
    solution, stored = read_solution(csv), store(csv)
    truth = truth_of(storage, stored)
    assert np.array_equal(truth.labels, solution.labels)
    assert list(truth.identities) == list(solution.identities)
    for name, values in solution.identities.items():
        assert np.array_equal(truth.identities[name], values, equal_nan=True)
    assert RowIds(storage.read(stored.row_ids_sha256)) == solution.row_ids


def test_without_usage_rows_are_split_in_half_by_the_key(store, storage, solution_csv):
    csv = solution_csv(usage=False)
    first, same, other = store(csv), store(csv), store(csv, split_key=b"another key")
    assert (first.public_row_count, first.private_row_count) == (200, 200)
    assert first.prepared_sha256 == same.prepared_sha256 != other.prepared_sha256
    assert first.report["split_by"] == "keyed hash"


def test_every_stratum_is_halved_to_within_one_row():
    ids, positive, members = strata(4001)
    usage = split_in_half(ids, positive, members, key=b"key")
    for label in (True, False):
        for a in (True, False):
            for b in (True, False):
                stratum = usage[(positive == label) & (members["a"] == a) & (members["b"] == b)]
                assert abs(np.count_nonzero(stratum == PUBLIC) - np.count_nonzero(stratum == PRIVATE)) <= 1


def test_split_does_not_follow_from_the_order_or_the_id():
    ids, positive, members = strata(4000)
    usage = split_in_half(ids, positive, members, key=b"key")
    public = usage == PUBLIC
    assert 0.45 < np.mean(np.argsort(np.argsort(ids))[public]) / 4000 < 0.55
    assert 0.45 < np.mean(public[:-1] == public[1:]) < 0.55


def test_split_of_a_row_does_not_depend_on_the_order_of_the_file():
    ids, positive, members = strata(500)
    usage = split_in_half(ids, positive, members, key=b"key")
    order = np.random.default_rng(1).permutation(500)
    shuffled = split_in_half(
        [ids[row] for row in order],
        positive[order],
        {name: values[order] for name, values in members.items()},
        key=b"key",
    )
    assert np.array_equal(shuffled, usage[order])


def test_named_identities_are_used_even_if_they_are_rare(store, solution_csv):
    stored = store(solution_csv(rows=60), identities=["muslim"])
    assert stored.rules == Rules(identities=("muslim",), metric=MetricSettings())


def test_undefined_cell_is_rejected_with_its_split_and_its_reason(store, solution_csv):
    lines = solution_csv().decode().splitlines()
    never = [lines[0] + ",nobody"] + [f"{line},0" for line in lines[1:]]
    with pytest.raises(UnusableSolution) as caught:
        store("\n".join(never).encode(), identities=["female", "nobody"])
    assert len(caught.value.problems) >= 2
    assert all("nobody" in problem for problem in caught.value.problems)
    assert any("public split" in problem for problem in caught.value.problems)
    assert any("private split" in problem for problem in caught.value.problems)


def test_split_without_rows_is_rejected(store, solution_csv):
    with pytest.raises(UnusableSolution, match="private split"):
        store(solution_csv().replace(b"Private", b"Public"), identities=["female"])


def test_solution_without_a_frequent_identity_is_rejected(store, solution_csv):
    with pytest.raises(UnusableSolution, match="at least 25 positive and 25 negative"):
        store(solution_csv(rows=60))


@pytest.mark.parametrize("identities", [[], ["female", "martian"]])
def test_unknown_identities_are_rejected(store, solution_csv, identities):
    with pytest.raises(UnusableSolution):
        store(solution_csv(), identities=identities)


def test_ignored_rows_are_in_no_split(store, storage, solution_csv):
    csv = solution_csv()
    line = next(line for line in csv.splitlines() if line.startswith(b"r7,"))
    stored = store(csv.replace(line, line.replace(b"Private", b"ignored")))
    assert (stored.public_row_count, stored.private_row_count) == (200, 199)
    assert stored.report["ignored_rows"] == 1
    truth = truth_of(storage, stored)
    assert 7 not in {*truth.rows(Split.PUBLIC), *truth.rows(Split.PRIVATE)}


PLAIN = [str(2900 + place) for place in range(400)]


@pytest.mark.parametrize(
    ("changed", "why"),
    [(["1e+05", "2024-01-02"], "converted"), (["02900"], "changed the case or zeros of"), ([], None)],
)
def test_ids_that_a_spreadsheet_changed_are_named(changed, why):
    found = odd_ids(RowIds.of([*PLAIN, *changed]))
    assert found == ([{"why": why, "count": len(changed), "ids": changed}] if why else [])


def test_rounded_and_damaged_ids_are_named_among_any_ids():
    exact = [740_245_381_351_515_404 + 17_203 * place for place in range(60)]
    for ids, count in ((exact, 0), ([round(each, -2) for each in exact], 60), ([*map(float, exact)], 60)):
        found = odd_ids(RowIds.of([str(int(each)) for each in ids]))
        assert [(each["why"], each["count"]) for each in found] == ([("rounded", count)] if count else [])
    hexadecimal = [f"{place * 2_654_435_761 % 2**48:012x}" for place in range(400)]
    assert [each["ids"] for each in odd_ids(RowIds.of([*hexadecimal, "3.00E+45"]))] == [["3.00E+45"]]
