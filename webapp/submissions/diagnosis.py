"""Submission diagnosis: the waterfall from the best possible score down to the score."""

from dataclasses import dataclass

from grader.ranking.order import error_text
from grader.services.leaderboards.submission_results import SplitResult
from webapp.presentation.formats import counted
from webapp.presentation.terms import ClassNames, phrase, words_of

SHOWN = 10


@dataclass(frozen=True, slots=True)
class WaterfallBar:
    """A loss from `x` to `x` + `length`, on a scale from 0 at the score to 100 at the best possible score.

    `rest` is the score that remains below the bar. `mark` is the class that the bar shares with its cell.
    """

    name: str
    term: str
    change: str
    rest: str
    x: str
    length: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class WaterfallView:
    """The losses of a submission, largest first; `marks` maps table cells to their bar's CSS class."""

    sentence: str
    best: str
    score: str
    bars: tuple[WaterfallBar, ...]
    marks: dict[tuple[str, str], str]

    @classmethod
    def of(
        cls, result: SplitResult | None, classes: ClassNames, *, whose: str = "your model"
    ) -> "WaterfallView | None":
        """Return the losses as displayed on the page, or None if they are hidden, unknown or 0."""
        if result is None or not result.all_losses:
            return None
        titles = {each.name: each.heading or each.title for each in result.about.terms}
        shown = result.losses[:SHOWN]
        lines = [
            (
                each.group or titles.get(each.term, ""),
                titles.get(each.term, "") if each.group else "",
                each.units,
            )
            for each in shown
        ]
        smaller, total = len(result.losses) - len(shown), sum(each.units for each in result.all_losses)
        counts = {
            f"{smaller:,} smaller": sum(each.units for each in result.losses[SHOWN:]),
            f"{len(result.all_losses) - len(result.losses):,} losses, each within chance": total
            - sum(each.units for each in result.losses),
        }
        lines += [(name, "", units) for name, units in counts.items() if units]
        cells = {row.name for row in result.identities}
        marks = {(each.group, each.term): f"g{n}" for n, each in enumerate(shown) if each.group in cells}
        bars, units = list[WaterfallBar](), result.best_units
        for place, (name, term, loss) in enumerate(lines):
            units -= loss
            x, length = (f"{100 * part / total:.1f}" for part in (units - result.score_units, loss))
            mark = marks.get((name, shown[place].term), "") if place < len(shown) else ""
            change, rest = result.scale.signed_text(-loss), result.scale.text(units)
            bars.append(WaterfallBar(name, term, change, rest, x, length, mark))
        best = result.scale.text(result.best_units)
        return cls(_sentence(result, classes, whose), best, result.score, tuple(bars), marks)


def _sentence(result: SplitResult, classes: ClassNames, whose: str) -> str:
    """Describe the largest loss in the competition's words."""
    if not result.losses:
        error = error_text(result.errors["score"])
        return f"No single loss is as large as the standard error of the score, {error}."
    first = result.losses[0]
    equal = [each.group for each in result.losses if (each.term, each.units) == (first.term, first.units)]
    words = ("identity", "identities") if result.metric else ("group", "groups")
    others = counted(len(equal) - 1, *(f"other {word}" for word in words))
    name = f"{first.group} or {others}" if len(equal) > 1 else first.group
    term = next((each for each in result.about.terms if each.name == first.term), None)
    size = f"{result.scale.size_text(first.units)} of the score"
    if len(equal) > 1:
        size += " each"
    title = " ".join(filter(None, (term.title if term else "", name and f"for {name}" if term else name)))
    fault = ""
    if term and term.fault and name:
        fault = f": {whose} {term.fault.format(name=name, **words_of(classes))}"
    elif term and term.low:
        fault = f": {phrase(term.low, classes)}"
    elif not term and first.term == "score":
        fault = ", by its number of rows and its distance from the best possible value"
    return f"The largest loss is {title} ({size}){fault}."
