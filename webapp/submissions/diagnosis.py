"""Submission diagnosis: the waterfall from the best possible score down to the score."""

from dataclasses import dataclass

from fairboard.losses import Loss
from grader.services.leaderboards.submission_results import SplitResult
from webapp.presentation.formats import capitalized, column_name, number
from webapp.presentation.terms import ClassNames, phrase, words_of
from webapp.submissions.views import weakest

SHOWN = 9  # at most, and at least three for each term


@dataclass(frozen=True, slots=True)
class WaterfallBar:
    """A loss from `x` to `x` + `length`, on a scale from 0 at the score to 100 at the best possible score.

    `css` is `term` for a bar with parts, which follow as `part`; merged losses are also `rest`. `rest` is the
    score that remains below the bar. `mark` is the class that the bar shares with its cell.
    """

    name: str
    css: str
    change: str
    rest: str
    x: str
    length: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class WaterfallView:
    """The losses by term and group, largest first; `marks` maps table cells to their bar's CSS class."""

    sentence: str
    best: str
    score: str
    bars: tuple[WaterfallBar, ...]
    marks: dict[tuple[str, str], str]

    @classmethod
    def of(cls, result: SplitResult | None, classes: ClassNames) -> "WaterfallView | None":
        """Return the losses as displayed on the page, or None if they are hidden, unknown or 0."""
        if result is None or not result.losses:
            return None
        titles = {each.name: each.short_title for each in result.about.terms}
        parts, total, top = _by_term(result), result.best_units - result.score_units, result.best_units
        cells, marks, bars = {row.name for row in result.identities}, dict[tuple[str, str], str](), []

        def add(name: str, css: str, units: int, mark: str = "") -> None:
            """Add a bar that ends at `top`."""
            x, length = (f"{100 * part / total:.1f}" for part in (top - units - result.score_units, units))
            change = number(result.scale.signed_text(-units))
            rest = number(result.scale.text(top - units))
            bars.append(WaterfallBar(name, css, change, rest, x, length, mark))

        for term, losses in parts.items():
            if title := titles.get(term, ""):
                add(title, "term" if losses[0].group else "", sum(each.units for each in losses))
            named = [each for each in losses if each.group]
            shown = named[: max(3, SHOWN // len(parts))]
            for each in shown:
                if each.group in cells:
                    marks[each.group, term] = f"g{len(marks)}"
                add(
                    column_name(each.group),
                    "part" if title else "",
                    each.units,
                    marks.get((each.group, term), ""),
                )
                top -= each.units
            if merged := named[len(shown) :]:
                units = sum(each.units for each in merged)
                add(f"{len(merged):,} smaller", "part rest" if title else "rest", units)
                top -= units
            top -= sum(each.units for each in losses if not each.group)
        best = number(result.scale.text(result.best_units))
        return cls(_sentence(result, classes), best, number(result.score), tuple(bars), marks)


def _by_term(result: SplitResult) -> dict[str, list[Loss]]:
    """Return the losses of each term, the largest first, and the largest term first."""
    parts: dict[str, list[Loss]] = {}
    for each in result.losses:
        parts.setdefault(each.term, []).append(each)
    return dict(sorted(parts.items(), key=lambda item: -sum(each.units for each in item[1])))


def _sentence(result: SplitResult, classes: ClassNames) -> str:
    """Describe the largest loss by term and the weakest group in the competition's words."""
    name, losses = next(iter(_by_term(result).items()))
    terms = {each.name: each for each in result.about.terms}
    sentences = []
    if term := terms.get(name):
        size = number(result.scale.size_text(sum(each.units for each in losses)))
        low = f": {phrase(term.low, classes)}" if term.low else ""
        sentences.append(f"The largest loss is {term.title} ({size} of the score){low}.")
    if group := weakest(result):
        sentences.append(f"{capitalized(group.note)}.")
        if found := result.weakest_group:
            fault = terms[found.column].fault if found.column in terms else ""
            words = words_of(classes)
            because = f": the model {fault.format(name=column_name(found.name), **words)}" if fault else ""
            sentences[-1] = f"The weakest {group.word} is {group.name} ({group.note}){because}."
    return " ".join(sentences)
