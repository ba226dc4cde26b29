"""Summary of a submission: score, change, rank, largest possible gains."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from grader.metrics import MetricSettings, Weights
from grader.metrics.bias.analysis.power_means import term_costs
from grader.ranking.order import error_text
from grader.services.leaderboards.submission_results import IdentityRow, Overview, SplitResult
from webapp.submissions.diagnosis import GainsView
from webapp.submissions.views import SplitView, figures, weakest_first

TERMS = {"overall_auc": 0.95, "subgroup_auc": 0.94, "bpsn_auc": 0.91, "bnsp_auc": 0.93}
RESULT = SplitResult(
    score="0.93412",
    score_units=93412,
    terms=TERMS,
    costs=term_costs(TERMS, MetricSettings()),
    identities=(),
    errors={"score": 0.0034},
)
CLASSES: Any = SimpleNamespace(positive_name="harmful", negative_name="harmless", row_name="comments")
BEFORE = {"best_before_units": 93381, "best_before_id": 7, "gain_units": 31, "best_id": 9}


@pytest.mark.parametrize(
    ("known", "change", "rank"),
    [
        (
            {**BEFORE, "rank": 41, "team_rank": 41, "previous_rank": 53, "team_count": 120},
            ("+0.00031", "your best; previous best 0.93381 (#7)"),
            ("41st", "of 120, up 12"),
        ),
        (
            {**BEFORE, "rank": 41, "team_rank": 41, "previous_rank": 41, "team_count": 120},
            ("+0.00031", "your best; previous best 0.93381 (#7)"),
            ("41st", "of 120, unchanged"),
        ),
        (
            {**BEFORE, "team_rank": 40},
            ("+0.00031", "your best at the time; previous best 0.93381 (#7)"),
            ("40th", "by your best, #9"),
        ),
        (
            {"rank": 3, "team_rank": 3, "team_count": 12},
            ("First", "your first score"),
            ("3rd", "of 12"),
        ),
        (
            {**BEFORE, "best_before_units": 93412, "gain_units": 0},
            ("0.00000", "equal to your earlier best (#7)"),
            None,
        ),
        (
            {**BEFORE, "best_before_units": 93443, "gain_units": -31, "would_rank": 4},
            ("-0.00031", "below your previous best, 0.93443 (#7)"),
            None,
        ),
    ],
)
def test_the_first_figures(known: dict[str, int], change: tuple[str, str], rank: tuple[str, str] | None):
    found = {each.label: (each.value, each.note) for each in figures(Overview(public=RESULT, **known))}
    assert found["Public score"] == ("0.93412", "Standard error 0.003; weakest term: BPSN")
    assert (found["Change"], found.get("Rank")) == (change, rank)


def test_a_late_submission_shows_the_rank_it_would_have():
    last = figures(Overview(public=RESULT, would_rank=4))[-1]
    assert (last.label, last.value, last.note) == ("Would rank", "4th", "late files are not ranked")


def test_there_are_no_figures_without_a_score():
    assert figures(Overview()) == ()


def diagnosed(
    aucs: Sequence[tuple[float | None, float | None, float | None]],
    *,
    error: float = 0.0,
    settings: MetricSettings | None = None,
    **terms: float,
) -> SplitResult:
    """Return the result of a score with these Subgroup, BPSN and BNSP AUCs of the identities a, b, c, ..."""
    metric, cells = settings or MetricSettings(), ("subgroup_auc", "bpsn_auc", "bnsp_auc")
    rows: list[Any] = [
        SimpleNamespace(name=name, **dict(zip(cells, values, strict=True)))
        for name, values in zip("abcdefgh", aucs, strict=False)
    ]
    terms = dict.fromkeys(TERMS, 0.9) | terms
    return SplitResult(
        "",
        0,
        terms,
        term_costs(terms, metric),
        tuple(IdentityRow(row.name, vars(row)) for row in rows),
        errors={"score": error} if error else {},
        aucs=tuple(rows),
        metric=metric,
    )


SAME = (0.9, 0.9, 0.9)


@pytest.mark.parametrize(
    ("cell", "row", "words"),
    [
        (
            "bpsn_auc",
            (0.9, 0.7, 0.9),
            "Your model flags harmless comments that mention b. Raising this BPSN AUC to",
        ),
        (
            "bnsp_auc",
            (0.9, 0.9, 0.7),
            "Your model misses harmful comments that mention b. Raising this BNSP AUC to",
        ),
        (
            "subgroup_auc",
            (0.7, 0.9, 0.9),
            "Your model confuses harmful and harmless comments that mention b. Raising",
        ),
    ],
)
def test_the_sentence_the_first_bar_the_first_row_and_the_weakest_term_agree(
    cell: str, row: tuple[float, float, float], words: str
):
    found = diagnosed([SAME, row, SAME], error=0.003)
    view = GainsView.of(found, CLASSES)
    gain = f"{found.gains[0].gain:.5f}"
    assert words in view.sentence
    assert f"improve the score by {gain}, which is the largest possible gain." in view.sentence
    assert [(bar.name, bar.gain, bar.length) for bar in view.bars] == [("b", f"+{gain}", "100.0")]
    assert view.marks == {("b", cell): "g0"}
    assert found.weakest_term == cell
    assert weakest_first(found)[0].name == "b"
    assert [term.tag for term in split_of(found).terms if term.term.key == cell] == ["largest gain"]


def split_of(result: SplitResult) -> SplitView:
    view = SplitView.of(result)
    assert view is not None
    return view


def test_the_largest_gain_comes_first_although_another_term_costs_more():
    aucs = [(0.95, 0.95, 0.61), (0.6, 0.95, 0.62), (0.95, 0.95, 0.62), (0.95, 0.95, 0.62)]
    found = diagnosed(aucs, subgroup_auc=0.72, bpsn_auc=0.95, bnsp_auc=0.617)
    assert found.costs[0].term == "bnsp_auc"
    view = GainsView.of(found, CLASSES)
    assert view.sentence.startswith("Your model confuses harmful and harmless comments that mention b. ")
    assert [(bar.name, bar.term, bar.mark) for bar in view.bars] == [
        ("b", "Subgroup", "g0"),
        ("a", "BNSP", "g1"),
    ]
    assert float(view.bars[1].length) < 100.0 == float(view.bars[0].length)
    assert found.weakest_term == "subgroup_auc"
    assert [row.name for row in weakest_first(found)] == ["b", "a", "c", "d"]
    summary = Overview(public=replace(found, errors={"score": 0.0001}))
    assert figures(summary)[0].note == "Standard error 0.00010; largest gain: Subgroup"


def test_gains_below_the_standard_error_are_not_listed():
    aucs = [(0.95, 0.95, 0.61), (0.6, 0.95, 0.62), (0.95, 0.95, 0.62), (0.95, 0.95, 0.62)]
    found = diagnosed(aucs, error=0.01, subgroup_auc=0.72, bpsn_auc=0.95, bnsp_auc=0.617)
    assert [bar.name for bar in GainsView.of(found, CLASSES).bars] == ["b"]
    none = diagnosed(aucs, error=0.1, subgroup_auc=0.72, bpsn_auc=0.95, bnsp_auc=0.617)
    view = GainsView.of(none, CLASSES)
    assert (view.bars, view.marks) == ((), {})
    assert view.sentence == (
        "Raising any single AUC to the median of its column would improve the score by less than its "
        "standard error, 0.10."
    )
    assert none.weakest_term == "bnsp_auc"  # the costliest one
    assert [term.tag for term in split_of(none).terms] == ["", "", "", "weakest term"]
    assert weakest_first(none)[0].name == "a"


def test_equal_rounded_aucs_are_not_distinguished():
    found = diagnosed([(0.9, 0.9, bnsp) for bnsp in (0.61, 0.61, 0.9, 0.9, 0.9)], bnsp_auc=0.7)
    assert "that mention a or b. Raising one of these BNSP AUCs" in GainsView.of(found, CLASSES).sentence
    found = diagnosed([(0.9, 0.9, bnsp) for bnsp in (0.61, 0.61, 0.61, 0.9, 0.9, 0.9, 0.9)], bnsp_auc=0.7)
    assert "mention a or 2 other identities with the same value." in GainsView.of(found, CLASSES).sentence


def test_undefined_aucs_have_no_gains():
    skip = MetricSettings(undefined="skip")
    found = diagnosed([(None, 0.9, None), (0.9, None, 0.6), SAME, SAME], settings=skip)
    assert [(bar.name, bar.term) for bar in GainsView.of(found, CLASSES).bars] == [("b", "BNSP")]
    assert not diagnosed([(None, 0.9, 0.9), SAME, (0.5, 0.9, 0.9)]).gains


def test_a_term_with_a_larger_weight_costs_more_than_a_lower_one():
    settings = MetricSettings(weights=Weights(0.7, 0.1, 0.1, 0.1))
    found = diagnosed([SAME] * 3, settings=settings, overall_auc=0.95, bpsn_auc=0.85)
    assert [each.term for each in found.costs][:2] == ["overall_auc", "bpsn_auc"]
    assert found.costs[0].cost == pytest.approx(0.035)
    assert found.weakest_term == "overall_auc"


def test_without_terms_or_with_equal_ones_no_term_is_called_weakest():
    assert GainsView.of(None, CLASSES) == GainsView("", (), {})
    equal = diagnosed([SAME] * 3)
    assert (equal.weakest_term, GainsView.of(equal, CLASSES)) == (None, GainsView("", (), {}))


def test_a_standard_error_has_one_significant_digit_or_two_after_a_leading_one():
    shown = [error_text(each) for each in (0.0034, 0.0014, 0.00096, 0.02, 0.012, 0.0104, 0.0196, 0.0)]
    assert shown == ["0.003", "0.0014", "0.0010", "0.02", "0.012", "0.010", "0.02", "0"]
