"""Summary of a submission: score, change, rank, losses."""

import itertools
import re
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask, get_template_attribute

from fairboard import MetricSettings, Weights
from fairboard.bias.metric import BiasMetric
from fairboard.groups import GroupValue, WeakestGroup
from fairboard.interface import GroupLine
from fairboard.lost_score import term_costs
from grader.models import Split
from grader.ranking.order import SCALE, TeamEntry, error_text
from grader.services.leaderboards.submission_results import IdentityRow, Overview, SplitResult
from webapp.presentation import formats
from webapp.submissions.terms_and_waterfall import (
    WaterfallView,
    shown_terms,
    weakest,
    weakest_first,
)

METRIC = BiasMetric((), MetricSettings())
TERMS = {"overall_auc": 0.95, "subgroup_auc": 0.94, "bpsn_auc": 0.91, "bnsp_auc": 0.93}
RESULT = SplitResult(
    score="0.93412",
    score_units=93412,
    terms=TERMS,
    costs=term_costs(TERMS, METRIC.describe().terms),
    identities=(),
    errors={"score": 0.0034},
)
CLASSES: Any = SimpleNamespace(positive_name="harmful", negative_name="harmless")
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def entry(submission_id, units):
    return TeamEntry(1, submission_id, units, NOON)


@pytest.mark.parametrize(
    ("known", "change", "rank"),
    [
        (
            {"before": entry(7, 93381), "entry": entry(8, 93412)},
            ("+0.00031", "from the best before, 0.93381 (#7)"),
            ("41st", "of 120"),
        ),
        (
            {"before": entry(7, 93443), "entry": entry(9, 93500)},
            ("-0.00031", "from the best before, 0.93443 (#7)"),
            ("41st", "by #9"),
        ),
        ({"entry": entry(8, 93412)}, ("First", "the team's first score"), ("41st", "of 120")),
    ],
)
def test_the_first_figures(known, change, rank):
    overview = Overview(8, RESULT, rank=41, team_count=120, **known)
    app = Flask("webapp")
    formats.init_app(app)
    with app.app_context():
        html = get_template_attribute("submissions/figures.html", "figures")(overview)
    figures = re.findall(r"<dt>(.*?)</dt><dd.*?>(.*?)</dd><dd.*?>(.*?)</dd>", str(html.unescape()))
    assert figures == [
        ("Public score", "0.93412", "Standard error 0.003; weakest term: BPSN"),
        ("Change", *change),
        ("Rank", *rank),
    ]


def diagnosed(aucs, *, error=0.001, settings=None, **terms):
    """Return the result of a score with these Subgroup, BPSN and BNSP AUCs of the identities a, b, c, ..."""
    metric, cells = BiasMetric((), settings or MetricSettings()), ("subgroup_auc", "bpsn_auc", "bnsp_auc")
    about = metric.describe()
    rows = [
        GroupLine(name, {}, dict(zip(cells, values, strict=True)))
        for name, values in zip("abcdefghijklmn", aucs, strict=False)
    ]
    values = {
        cell: {row.name: GroupValue(auc, error) for row in rows if (auc := row.cells[cell]) is not None}
        for cell in cells
    }
    terms = dict.fromkeys(TERMS, 0.9) | terms
    units = SCALE.units(sum(terms[each.name] * (each.weight or 0) for each in about.terms))
    return SplitResult(
        SCALE.text(units),
        units,
        terms,
        term_costs(terms, about.terms),
        tuple(IdentityRow(row.name, row.cells) for row in rows),
        values=values,
        parts=metric.loss_parts(terms, rows),
        about=about,
    )


SAME = (0.9, 0.9, 0.9)


def test_the_sentence_the_first_bar_the_first_row_and_the_weakest_term_agree():
    cell, row = "bpsn_auc", (0.9, 0.7, 0.9)
    found = diagnosed([SAME, row, SAME], overall_auc=0.99, bpsn_auc=0.79)
    view = waterfall(found)
    loss = next(each for each in found.losses if each.group)
    assert (loss.term, loss.group, loss.amount) == (cell, "b", loss.units / 100_000)
    term, part = view.bars[:2]
    assert view.sentence == (
        f"The largest loss is BPSN AUC ({term.change[1:]} of the score): false alarms. The weakest identity "
        "is b (BPSN AUC 0.70, 0.20 behind the best identity, public rows): the model scores harmless rows "
        "that mention b too high."
    )
    assert (term.css, part.css, part.name, part.change) == ("term", "part", "b", f"-{loss.amount:.5f}")
    assert view.marks[("b", cell)] == part.mark == "g0"
    assert found.weakest_term == cell
    assert weakest_first(found)[0].name == "b"
    assert [each.term.name for each in shown_terms(found) if each.is_weakest] == [cell]


def waterfall(result):
    view = WaterfallView.of(result, CLASSES)
    assert view is not None
    return view


@pytest.mark.parametrize("error", [0.0015, 0.25])
def test_the_displayed_bars_lead_from_the_best_score_to_the_score(error):
    aucs = [(0.9 + place / 200, 0.85 - place / 300, 0.95) for place in range(14)]
    view = waterfall(diagnosed(aucs, error=error, subgroup_auc=0.93, bpsn_auc=0.82, bnsp_auc=0.95))
    left = {"term": Decimal(view.best), "part": Decimal(view.best)}
    for bar in view.bars:
        for level in ["part"] if "part" in bar.css else ["term"] if bar.css else ["term", "part"]:
            left[level] += Decimal(bar.change)
            assert Decimal(bar.rest) == left[level]
    assert left == dict.fromkeys(left, Decimal(view.score))
    assert [bar.name for bar in view.bars if "part" not in bar.css] == ["BPSN", "Overall", "Subgroup", "BNSP"]
    for term in ("BPSN", "Subgroup", "BNSP"):
        start = next(n for n, bar in enumerate(view.bars) if bar.name == term) + 1
        parts = list(itertools.takewhile(lambda bar: "part" in bar.css, view.bars[start:]))
        sizes = [-Decimal(bar.change) for bar in parts if "rest" not in bar.css]
        assert sizes == sorted(sizes, reverse=True) and len(sizes) <= 3
        assert sum(Decimal(bar.change) for bar in parts) == Decimal(view.bars[start - 1].change)
    assert ("The weakest identity is" in view.sentence) is (error < 0.01)


def test_no_group_is_named_if_all_are_equal_within_chance():
    found = diagnosed([SAME, (0.9, 0.7, 0.9), SAME], error=0.1, bpsn_auc=0.79)
    assert found.weakest_group is None
    assert waterfall(found).sentence.endswith("No identity is clearly behind the others, public rows.")
    assert weakest(replace(found, split=Split.PRIVATE)).note.endswith("private rows")
    assert weakest(replace(found, values={})) is None


def test_the_weakest_group_is_the_farthest_from_the_best_of_its_column_and_not_the_largest_loss():
    found = diagnosed([(0.99, 0.6, 0.99), (0.5, 0.9, 0.9), (0.99, 0.6, 0.99)], overall_auc=0.5)
    assert found.weakest_group == WeakestGroup("subgroup_auc", "b", 0.5, pytest.approx(0.49))
    assert weakest_first(found)[0].name == "b"


def test_bars_of_terms_start_at_the_highest_round_value_below_all_of_them():
    lows = {shown_terms(diagnosed([SAME], **dict.fromkeys(TERMS, low)))[0].low for low in (0.91, 0.97, 0.3)}
    assert lows == {0.9, 0.95, 0.0}


def test_a_term_with_a_larger_weight_costs_more_than_a_lower_one():
    settings = MetricSettings(weights=Weights(0.7, 0.1, 0.1, 0.1))
    found = diagnosed([SAME] * 3, settings=settings, overall_auc=0.95, bpsn_auc=0.85)
    assert [each.term for each in found.costs][:2] == ["overall_auc", "bpsn_auc"]
    assert found.weakest_term == "overall_auc"


def test_without_terms_or_with_equal_ones_no_term_is_called_weakest():
    assert WaterfallView.of(None, CLASSES) is None
    assert diagnosed([SAME] * 3).weakest_term is None


def test_a_standard_error_has_one_significant_digit_or_two_after_a_leading_one():
    shown = [error_text(each) for each in (0.0034, 0.0014, 0.00096, 0.02, 0.012, 0.0104, 0.0196, 0.0)]
    assert shown == ["0.003", "0.0014", "0.0010", "0.02", "0.012", "0.010", "0.02", "0"]
