"""Summary of a submission: score, change, rank, largest possible gains."""

from types import SimpleNamespace
from typing import Any

import pytest

from grader.metrics import MetricSettings, Weights
from grader.metrics.analysis.power_means import TermCost, diagnose, weakest_term
from grader.ranking.order import error_text
from grader.services.leaderboards.submission_results import IdentityRow, SplitResult, Summary
from webapp.submissions.diagnosis import GainsView
from webapp.submissions.views import figures, weakest_first

TERMS = {"overall_auc": 0.95, "subgroup_auc": 0.94, "bpsn_auc": 0.91, "bnsp_auc": 0.93}
RESULT = SplitResult(
    score="0.93412",
    score_units=93412,
    terms=TERMS,
    diagnosis=diagnose(TERMS, (), MetricSettings()),
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
    found = {each.label: (each.value, each.note) for each in figures(Summary(public=RESULT, **known))}
    assert found["Public score"] == ("0.93412", "Standard error 0.003; weakest term: BPSN")
    assert (found["Change"], found.get("Rank")) == (change, rank)


def test_a_late_submission_shows_the_rank_it_would_have():
    last = figures(Summary(public=RESULT, would_rank=4))[-1]
    assert (last.label, last.value, last.note) == ("Would rank", "4th", "late files are not ranked")


def test_there_are_no_figures_without_a_score():
    assert figures(Summary()) == ()


def diagnosed(settings: MetricSettings | None = None, **aucs: float) -> tuple[TermCost, ...]:
    """Return the diagnosis of a score with one AUC of one identity below all others."""
    lines: list[Any] = [
        SimpleNamespace(name=name, subgroup_auc=0.9, bpsn_auc=0.9, bnsp_auc=0.9) for name in "abc"
    ]
    for cell, value in aucs.items():
        setattr(lines[1], cell, value)
    terms = {"overall_auc": 0.95, "subgroup_auc": 0.9, "bpsn_auc": 0.9, "bnsp_auc": 0.9} | aucs
    return diagnose(terms, lines, settings or MetricSettings())


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("bpsn_auc", "Your model flags harmless comments that mention b. Raising this BPSN AUC to"),
        ("bnsp_auc", "Your model misses harmful comments that mention b. Raising this BNSP AUC to"),
        (
            "subgroup_auc",
            "Your model confuses harmful and harmless comments that mention b. Raising",
        ),
    ],
)
def test_the_sentence_the_first_bar_and_the_weakest_term_agree(cell: str, words: str):
    found = diagnosed(**{cell: 0.7})
    view = GainsView.of(found, CLASSES)
    gain = f"{found[0].cells[0].gain:.5f}"
    assert words in view.sentence
    assert view.sentence.endswith(f" to the median would improve the score by {gain}.")
    assert [(bar.name, bar.gain, bar.length) for bar in view.bars] == [("b", f"+{gain}", "100.0")]
    assert view.marks == {("b", cell): "g0"}
    assert (found[0].term, weakest_term(found)) == (cell, cell)


def test_an_outlier_of_a_strong_term_is_listed_after_the_weakest_term():
    lines: list[Any] = [
        SimpleNamespace(name=name, subgroup_auc=subgroup, bpsn_auc=0.95, bnsp_auc=bnsp)
        for name, subgroup, bnsp in (
            ("a", 0.95, 0.61),
            ("b", 0.6, 0.62),
            ("c", 0.95, 0.62),
            ("d", 0.95, 0.62),
        )
    ]
    terms = {"overall_auc": 0.9, "subgroup_auc": 0.72, "bpsn_auc": 0.95, "bnsp_auc": 0.617}
    found = diagnose(terms, lines, MetricSettings())
    assert [each.term for each in found] == ["bnsp_auc", "subgroup_auc", "overall_auc", "bpsn_auc"]
    view = GainsView.of(found, CLASSES)
    assert view.sentence.startswith(
        "BNSP lowers the score most (0.09575). Your model misses harmful comments that mention a"
    )
    assert [(bar.name, bar.term) for bar in view.bars] == [("a", "BNSP"), ("b", "Subgroup")]
    assert view.bars[0].length < view.bars[1].length == "100.0"
    result = SplitResult("", 0, terms, found, tuple(IdentityRow(each.name, vars(each)) for each in lines))
    assert [row.name for row in weakest_first(result)] == ["a", "b", "c", "d"]


def test_equal_rounded_aucs_are_not_distinguished():
    lines: list[Any] = [
        SimpleNamespace(name=name, subgroup_auc=0.9, bpsn_auc=0.9, bnsp_auc=bnsp)
        for name, bnsp in (("a", 0.61), ("b", 0.61), ("c", 0.9), ("d", 0.9), ("e", 0.9))
    ]
    found = diagnose({"overall_auc": 0.9, "bnsp_auc": 0.7}, lines, MetricSettings())
    assert "that mention a or b. Raising one of these BNSP AUCs" in GainsView.of(found, CLASSES).sentence


def test_a_term_with_a_larger_weight_costs_more_than_a_lower_one():
    settings = MetricSettings(weights=Weights(0.7, 0.1, 0.1, 0.1))
    found = diagnosed(settings, bpsn_auc=0.85)
    assert [each.term for each in found][:2] == ["overall_auc", "bpsn_auc"]
    assert found[0].cost == pytest.approx(0.035)
    view = GainsView.of(found, CLASSES)
    assert view.sentence.endswith("your model confuses harmful and harmless comments in general.")


def test_without_terms_or_with_equal_ones_no_term_is_called_weakest():
    assert GainsView.of((), CLASSES) == GainsView("", (), {})
    assert GainsView.of(diagnose(dict.fromkeys(TERMS, 0.9), (), MetricSettings()), CLASSES).sentence == ""


def test_a_standard_error_has_one_significant_digit_or_two_after_a_leading_one():
    shown = [error_text(each) for each in (0.0034, 0.0014, 0.00096, 0.02, 0.012, 0.0104, 0.0196, 0.0)]
    assert shown == ["0.003", "0.0014", "0.0010", "0.02", "0.012", "0.010", "0.02", "0"]
