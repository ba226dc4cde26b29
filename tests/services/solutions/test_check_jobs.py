"""Identities in a solution report: selectable, proposed, or excluded with a reason."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grader.services.solutions.check_jobs import candidates


def report_of(cells: dict[str, tuple[int, int, int, int]], *, rows: int = 1000, positives: int = 500):
    """Return a report with the given numbers of positive and negative rows per identity and split."""

    def line(name: str, counts: tuple[int, int, int, int]) -> dict[str, Any]:
        public, private = counts[:2], counts[2:]
        split = dict(zip(("public", "private"), (public, private), strict=True))
        return {
            "name": name,
            "in_score": min(counts) >= 25,
        } | {each: {"positives": found[0], "negatives": found[1]} for each, found in split.items()}

    whole = {"rows": rows, "positives": positives, "score_error": 0.01}
    return {
        "splits": {"public": whole, "private": whole},
        "identities": [line(name, counts) for name, counts in cells.items()],
    }


def test_each_identity_that_is_not_proposed_has_a_reason():
    found = candidates(
        report_of(
            {
                "male": (40, 50, 60, 70),
                "rare": (40, 50, 60, 12),
                "tiny": (4, 6, 60, 70),
                "none": (40, 0, 60, 70),
                "all": (500, 1, 1, 1),
            }
        ),
        min_class_rows=25,
    )
    told = {each.name: (each.why_not, each.is_refused) for each in found}
    assert told == {
        "male": ("", False),
        "rare": ("Only 12 negative rows in the private split. The minimum is 25.", False),
        "tiny": ("Only 4 positive rows in the public split. The minimum is 25.", False),
        "none": ("No negative row of the public split mentions it, so an AUC would be undefined.", True),
        "all": ("Every positive row of the public split mentions it, so an AUC would be undefined.", True),
    }


@given(st.tuples(*[st.integers(0, 500)] * 4), st.integers(1, 60))
def test_proposed_identities_have_enough_rows_of_each_class_in_each_split(counts, least: int):
    [found] = candidates(report_of({"x": counts}), min_class_rows=least)
    has_all = 500 in counts
    assert found.is_refused == (0 in counts or has_all)
    assert (not found.why_not) == (min(counts) >= least and not has_all)
