"""What the page of a submission says first: score, change and rank, and where to gain most."""

from types import SimpleNamespace
from typing import Any

import pytest

from grader.metrics import MetricSettings
from grader.metrics.analysis.uncertainty.held_back import HeldBack, held_back
from grader.services.leaderboards.submission_results import SplitResult, Summary
from webapp.submissions.figures import figures
from webapp.submissions.gains import GainsView

RESULT = SplitResult(
    score="0.93412",
    score_units=93412,
    terms={"overall_auc": 0.95, "subgroup_auc": 0.94, "bpsn_auc": 0.91, "bnsp_auc": 0.93},
    weakest_term="bpsn_auc",
    identities=(),
)
CLASSES: Any = SimpleNamespace(positive_name="harmful", negative_name="harmless", row_name="comments")
BEFORE = {"best_before_units": 93381, "best_before_id": 7, "gain_units": 31, "best_id": 9}


@pytest.mark.parametrize(
    ("known", "change", "rank"),
    [
        (
            {**BEFORE, "rank": 41, "team_rank": 41, "previous_rank": 53, "team_count": 120},
            ("+0.00031", "your best; before it 0.93381 (#7)"),
            ("41st", "of 120, up 12"),
        ),
        (
            {**BEFORE, "rank": 41, "team_rank": 41, "previous_rank": 41, "team_count": 120},
            ("+0.00031", "your best; before it 0.93381 (#7)"),
            ("41st", "of 120, as before"),
        ),
        (
            {**BEFORE, "team_rank": 40},
            ("+0.00031", "your best when it came; before it 0.93381 (#7)"),
            ("40th", "by your best, #9"),
        ),
        (
            {"rank": 3, "team_rank": 3, "team_count": 12},
            ("First", "your first score"),
            ("3rd", "of 12"),
        ),
        (
            {**BEFORE, "best_before_units": 93412, "gain_units": 0},
            ("0.00000", "equal to your best, which came earlier (#7)"),
            None,
        ),
        (
            {**BEFORE, "best_before_units": 93443, "gain_units": -31, "would_rank": 4},
            ("-0.00031", "below your best before it, 0.93443 (#7)"),
            None,
        ),
    ],
)
def test_the_first_figures(
    known: dict[str, int], change: tuple[str, str], rank: tuple[str, str] | None
) -> None:
    found = {each.label: (each.value, each.note) for each in figures(Summary(public=RESULT, **known))}
    assert found["Public score"] == ("0.93412", "Weakest term: BPSN")
    assert (found["Change"], found.get("Rank")) == (change, rank)


def test_a_late_file_has_the_rank_that_it_would_have() -> None:
    last = figures(Summary(public=RESULT, would_rank=4))[-1]
    assert (last.label, last.value, last.note) == ("Would be", "4th", "late files are not ranked")


def test_there_are_no_figures_without_a_score() -> None:
    assert figures(Summary()) == ()


def gaining(**aucs: float) -> HeldBack:
    """Return what holds a score back in which one AUC of one identity is lower than all others."""
    lines: list[Any] = [
        SimpleNamespace(name=name, subgroup_auc=0.9, bpsn_auc=0.9, bnsp_auc=0.9) for name in "abc"
    ]
    for cell, value in aucs.items():
        setattr(lines[1], cell, value)
    return held_back(lines, MetricSettings())


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("bpsn_auc", "Your model flags harmless comments that mention b: raising that BPSN"),
        ("bnsp_auc", "Your model misses harmful comments that mention b: raising that BNSP"),
        (
            "subgroup_auc",
            "Your model mixes up harmful and harmless comments that mention b: raising",
        ),
    ],
)
def test_one_plain_sentence_says_what_would_gain_most(cell: str, words: str) -> None:
    found = gaining(**{cell: 0.7})
    view = GainsView.of(found, CLASSES, weakest_term=cell)
    assert view is not None
    gain = f"{found.cells[0].gain:.5f}"
    assert view.sentence.startswith(words)
    assert view.sentence.endswith(f" to the median would gain {gain}.")
    assert [(bar.name, bar.gain, bar.length) for bar in view.bars] == [("b", f"+{gain}", "100.0")]
    assert view.marks == {("b", cell): "g0"}


def test_without_gains_the_sentence_is_of_the_overall_auc_or_there_is_none() -> None:
    view = GainsView.of(gaining(), CLASSES, weakest_term="overall_auc")
    assert view is not None
    assert view.sentence.startswith("Your model mixes up harmful and harmless comments in general")
    assert GainsView.of(gaining(), CLASSES, weakest_term="bpsn_auc") == GainsView("", (), {})
    assert GainsView.of(None, CLASSES, weakest_term="overall_auc") is None
