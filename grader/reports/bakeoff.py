"""Bake-off: report on any number of candidate models for the same comments, with a recommendation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from grader.charts.frame import Series, line_chart
from grader.charts.svg import Axis
from grader.metrics import PreparedSplit, prepare
from grader.metrics.bias.analysis import intervals
from grader.metrics.bias.analysis.influence import Measured, Sets
from grader.metrics.bias.analysis.intervals import CHECKED_MEANS, LEVEL
from grader.metrics.bias.analysis.paired_differences import PairedReport, paired_report
from grader.metrics.bias.analysis.threshold_costs import CostCurve, cost_curve
from grader.metrics.bias.expected_error import rows_needed
from grader.metrics.bias.prepared import BoolArray
from grader.metrics.bias.subgroups import BIAS_AUCS
from grader.reports import scored
from grader.reports.analysis import Analysis, Material, facts_of, pairs_of
from grader.reports.blocks import Cell, Chart, Section, metric, number, share, signed, table
from grader.text import approximate, counted, listed

WANTED_ERROR, WANTED_DIFFERENCE = 0.02, 0.01
REACH = 1.96 + 0.84  # standard errors for a test at 5 % that finds a difference in 80 % of samples
PER_ROWS = 1000  # Costs are shown for this many comments.
LINE_STYLES = 8


@dataclass(frozen=True, eq=False)
class Bakeoff:
    """All measurements of the candidates on the same rows; mappings are sorted by score, best first.

    `pairs` contains the differences of each pair, better candidate first, and `p_values` those of the scores,
    adjusted for the number of pairs. `costs` are those of a false alarm and a missed row if `harmful_share`
    of all comments are positive. `rates` contains the false positive and false negative rates at the
    threshold with the lowest cost, for all rows ("") and for each identity.
    """

    inputs: Material
    split: PreparedSplit
    reports: Mapping[str, intervals.UncertaintyReport]
    pairs: Mapping[tuple[str, str], PairedReport]
    p_values: Mapping[tuple[str, str], float | None]
    costs: tuple[float, float]
    harmful_share: float
    curves: Mapping[str, CostCurve]
    rates: Mapping[str, Mapping[str, tuple[float | None, ...]]]

    def tied_with(self, name: str) -> list[str]:
        """Return the candidates whose scores are not separated from a candidate's score."""
        tied = {pair for pair, p_value in self.p_values.items() if p_value is None or p_value >= 1 - LEVEL}
        return [other for other in self.reports if {(name, other), (other, name)} & tied]

    @property
    def best(self) -> str:
        """The candidate with the highest score."""
        return next(iter(self.reports))

    @cached_property
    def too_few(self) -> list[str]:
        """The identities with too few rows in a compared set for verified intervals."""
        report, least = self.reports[self.best].report, CHECKED_MEANS.rows
        sizes = {line.name: intervals.compared_sizes(report, line).values() for line in report.subgroups}
        return [name for name, compared in sizes.items() if min(map(min, compared)) < least]

    @property
    def recommended(self) -> str | None:
        """The best candidate; None if it is not separated from all others or there are too few rows."""
        return self.best if not (self.too_few or self.tied_with(self.best)) else None

    def sentences(self) -> Iterator[str]:
        """Yield the recommendation, its reason and the number of rows that would be needed."""
        best, rows, tied = self.best, f"these {self.split.rows:,} rows", self.tied_with(self.best)
        worse = listed([name for name in self.reports if name not in {best, *tied}], most=12)
        score = self.reports[best].score
        if self.too_few:
            yield (
                f"No candidate can be recommended because {rows} are too few: each identity needs at least "
                f"{CHECKED_MEANS.rows} rows of each class. Label more, or omit {listed(self.too_few)}."
            )
        elif not self.pairs:
            yield f"{best} is the only candidate. Its score is {_with_interval(score)} on {rows}."
        elif not tied:
            yield f"{best} is recommended: its score is higher than that of {worse} on {rows}."
        elif len(tied) == 1:
            yield f"{best} and {tied[0]} cannot be separated on {rows}."
        else:
            yield f"{listed(tied, most=12)} cannot be separated from {best}, the highest score, on {rows}."
        if tied and worse:
            yield f"{best} has a higher score than {worse}."
        if not all(each.score.is_checked for pair, each in self.pairs.items() if best in pair):
            yield f"Caution: some differences from {best} are outside the range of verified intervals."
        errors = [self.pairs[best, other].score.standard_error or 0.0 for other in tied]
        needed = self.split.rows * (REACH * max(errors, default=0.0) / WANTED_DIFFERENCE) ** 2
        if needed > self.split.rows:
            yield f"About {approximate(needed)} rows can show a difference of {WANTED_DIFFERENCE:g}."
        lines = (each for each in self.reports[best].report.subgroups if 0 < each.positives < each.size)
        shares = {each.name: (each.positives / each.size, each.size / self.split.rows) for each in lines}
        needs = ((rows_needed(WANTED_ERROR, *each), name) for name, each in shares.items())
        most, name = max(needs, default=(0, ""))
        if most > self.split.rows:
            error = f"a standard error of at most {WANTED_ERROR:g} in each AUC of {name}"
            yield f"For {error}, about {approximate(most)} rows like these are needed."


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted for their number (Holm, Scandinavian Journal of Statistics 6, 1979)."""
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for before, (p, place) in enumerate(sorted((p, n) for n, p in enumerate(p_values) if p is not None)):
        highest = max(highest, min(p * (len(p_values) - before), 1.0))
        adjusted[place] = highest
    return adjusted


def measure_candidates(
    inputs: Material, costs: tuple[float, float] = (1.0, 1.0), harmful_share: float | None = None
) -> Bakeoff:
    """Measure the candidates in ``inputs.predictions``, given the costs of a false alarm and a missed row.

    The costs refer to comments of which `harmful_share` are positive; by default, as many as in the rows.
    """
    rows, solution, settings = inputs.rows, inputs.solution, inputs.settings
    kept = inputs.annotations().mentioned_by(inputs.minimum_size).names
    if not (rows.size and kept):
        raise ValueError(f"No identity is mentioned in {counted(inputs.minimum_size, 'row', at_least=True)}.")
    identities = {name: solution.identities[name][rows] for name in kept}
    split = prepare(solution.labels[rows], identities, settings=settings)
    sets = Sets(split)
    predictions = {name: each[rows] for name, each in inputs.predictions.items()}
    measured = {name: Measured.of(sets, each, settings) for name, each in predictions.items()}
    uncertainty = {name: intervals.uncertainty_of(sets, each) for name, each in measured.items()}
    reports = dict(sorted(uncertainty.items(), key=lambda each: -(each[1].score.value or 0.0)))
    pairs = {(a, b): paired_report(sets, measured[a], measured[b]) for a, b in combinations(reports, 2)}
    p_values = dict(zip(pairs, holm([each.score.p_value for each in pairs.values()]), strict=True))
    here = split.positives / split.rows
    if harmful_share is None:
        harmful_share, weighted = here, costs
    elif 0 < here < 1:
        weighted = costs[0] * (1 - harmful_share) / (1 - here), costs[1] * harmful_share / here
    else:
        raise ValueError("A share of harmful comments requires positive and negative rows.")
    curves = {name: cost_curve(split.labels, predictions[name], *weighted) for name in reports}
    members = {"": slice(None)} | dict(zip(split.names, split.members, strict=True))
    rates = {}
    for name, curve in curves.items():
        flagged = predictions[name] >= curve.threshold
        rates[name] = {each: _rates(split.labels[of], flagged[of]) for each, of in members.items()}
    return Bakeoff(inputs, split, reports, pairs, p_values, costs, harmful_share, curves, rates)


def _rates(positive: BoolArray, flagged: BoolArray) -> tuple[float | None, ...]:
    wrong = positive != flagged
    return tuple(float(wrong[of].mean()) if of.any() else None for of in (~positive, positive))


def bakeoff_report(bakeoff: Bakeoff) -> Analysis:
    """Return the report on a bake-off, for text, JSON or HTML."""
    annotations, sentences = bakeoff.inputs.annotations(), tuple(bakeoff.sentences())
    names = list(bakeoff.reports)
    data = {"recommended": bakeoff.recommended, "candidates": names, "sentences": list(sentences)}
    first = Section("recommendation", "Recommendation", sentences, (), data)
    differences = [_differences(bakeoff)] if bakeoff.pairs else []
    sections = [first, _terms(bakeoff), _heatmaps(bakeoff), *differences]
    facts = facts_of(bakeoff.inputs, annotations, annotations.mentioned_by(bakeoff.inputs.minimum_size))
    title = f"Bake-off of {len(bakeoff.reports)} candidates" if bakeoff.pairs else f"Report on {bakeoff.best}"
    return Analysis(title, facts, (*sections, *pairs_of(bakeoff.inputs, "candidate"), _costs(bakeoff)))


def _terms(bakeoff: Bakeoff) -> Section:
    lines, data = [], {}
    for name, report in bakeoff.reports.items():
        tied = bakeoff.tied_with(name)
        shown = map(_with_interval, report.terms.values())
        lines.append((name, listed(tied, most=12) or "-", *shown))
        data[name] = report.report.as_dict() | {"intervals": report.as_dict(), "not_separated_from": tied}
    head = ("candidate", "not separated from", *(scored.WORDS[term] for term in report.terms))
    ties = "Ties are not transitive: A may be tied with B, and B with C, although A and C are separated."
    block = table(f"Values and {LEVEL:.0%} intervals", head, lines, notes=(ties,) * bool(bakeoff.pairs))
    texts = (scored.UNCHECKED_MEANS, *scored.without_value(bakeoff.reports[bakeoff.best]))
    return Section("terms", "Score and its terms", texts, (block,), data)


def _with_interval(each: intervals.Estimate) -> str:
    return number(each.value) if each.low is None else f"{number(each.value)} ({scored.interval(each, 3)})"


def _heatmaps(bakeoff: Bakeoff) -> Section:
    blocks = []
    for auc in BIAS_AUCS:
        lines: list[tuple[Cell | str, ...]] = []
        for name in bakeoff.split.names:
            cells = [report.cells[name][auc] for report in bakeoff.reports.values()]
            lines.append((name, *(replace(metric(auc, e.value), text=_with_interval(e)) for e in cells)))
        blocks.append(table(f"{scored.WORDS[auc]} by identity", ("identity", *bakeoff.reports), lines))
    text = (
        "Colored cells are closer to 0.5, which is no better than chance. A low BPSN AUC means false alarms "
        "for comments that mention the identity. A low BNSP AUC means missed harm in them."
    )
    return Section("identities", "AUCs by identity", (text, scored.UNCHECKED_CELLS), tuple(blocks))


def _differences(bakeoff: Bakeoff) -> Section:
    lines, data = [], []
    for pair, report in bakeoff.pairs.items():
        terms = report.terms.values()
        shown = (f"{signed(each.difference)} ({scored.marked_interval(each, 3)})" for each in terms)
        lines.append((" - ".join(pair), scored.p_text(bakeoff.p_values[pair]), *shown))
        data.append({"pair": list(pair), "adjusted_p_value": bakeoff.p_values[pair]} | report.as_dict())
    text = (
        "All candidates are measured on the same rows, so rows that are hard for all do not blur the "
        "differences. Two scores are separated if their p-value, adjusted for the number of pairs (Holm), is "
        f"below {1 - LEVEL:.2g}. The {LEVEL:.0%} intervals are not adjusted."
    )
    head = ("pair", "adjusted p", *(scored.WORDS[term] for term in report.terms))
    block = table("First candidate minus second", head, lines, notes=(scored.UNCHECKED_DIFFERENCES,))
    return Section("differences", "Paired differences", (text,), (block,), data)


def _costs(bakeoff: Bakeoff) -> Section:
    lines, columns, data = [], [], {}
    series: list[Series] = []
    for name, curve in bakeoff.curves.items():
        costs, flagged, best = PER_ROWS * curve.costs, curve.flagged / bakeoff.split.rows, curve.best
        false_positives, false_negatives = (rate or 0.0 for rate in bakeoff.rates[name][""])
        there = bakeoff.harmful_share * (1 - false_negatives) + (1 - bakeoff.harmful_share) * false_positives
        shown = number(costs[best], 1), share(there), *map(share, bakeoff.rates[name][""])
        lines.append((name, f"{curve.threshold:.6g}", *shown))
        at = [int(flagged.searchsorted(percent / 100)) for percent in range(101)]
        columns.append([number(costs[place], 1) for place in at[::10]])
        points = [(100 * flagged[place], costs[place]) for place in sorted({*at, best})]
        series.append(Series(name, points, len(series) % LINE_STYLES))
        threshold = curve.threshold if best else None
        data[name] = {"threshold": threshold, "cost": float(curve.costs[best]), "rates": bakeoff.rates[name]}
    head = ("candidate", "threshold", f"cost per {PER_ROWS:,}", "flagged", "FPR", "FNR")
    best_of_all = table("Threshold with the lowest cost", head, lines)
    by_identity = []
    for line in bakeoff.reports[bakeoff.best].report.subgroups:
        rates = (share(rate) for of_model in bakeoff.rates.values() for rate in of_model[line.name])
        by_identity.append((line.name, f"{line.size - line.positives:,}", f"{line.positives:,}", *rates))
    of_identity = ("identity", "negative", "positive", *("FPR", "FNR") * len(lines))
    groups = [("rows", 2), *((name, 2) for name in bakeoff.rates)]
    caption = "False positive rate (FPR) and false negative rate (FNR) at these thresholds"
    highest = 1.05 * max(cost for each in series for _, cost in each.points)
    x, y = Axis("% of these rows flagged", 0, 100), Axis("cost", 0, highest)
    curves = f"Cost per {PER_ROWS:,} comments by share of flagged comments"
    by_share = ((f"{10 * tenth}%", *costs) for tenth, costs in enumerate(zip(*columns, strict=True)))
    chart = Chart(line_chart(curves, series, x, y), table(curves, ("flagged", *bakeoff.curves), by_share))
    blocks = (best_of_all, chart, table(caption, of_identity, by_identity, groups=groups))
    texts = (
        f"A false alarm costs {bakeoff.costs[0]:g}, and a missed positive comment costs "
        f"{bakeoff.costs[1]:g}. A comment is flagged if its prediction is at or above the threshold, on the "
        "candidate's own scale (inf flags no comment).",
        f"The costs assume that {share(bakeoff.harmful_share)} of your comments are positive, compared with "
        f"{share(bakeoff.split.positives / bakeoff.split.rows)} of these rows. The thresholds were chosen on "
        "these rows, so costs on new comments are probably higher.",
    )
    return Section("costs", "Cost at each threshold", texts, blocks, data)
