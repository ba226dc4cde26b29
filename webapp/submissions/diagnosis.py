"""Submission diagnosis: the waterfall from the best possible score down to the score."""

from dataclasses import dataclass

from fairboard.losses import Loss
from grader.services.leaderboards.submission_results import SplitResult
from webapp.presentation.formats import column_name, counted, number
from webapp.presentation.terms import ClassNames, phrase, words_of

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
    def of(
        cls, result: SplitResult | None, classes: ClassNames, *, whose: str = "your model"
    ) -> "WaterfallView | None":
        """Return the losses as displayed on the page, or None if they are hidden, unknown or 0."""
        if result is None or not result.all_losses:
            return None
        titles = {each.name: each.short_title for each in result.about.terms}
        parts, above_chance = _by_term(result), frozenset(result.losses)
        total, top = result.best_units - result.score_units, result.best_units
        words = result.about.group_words
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
            clear = [each for each in losses if each in above_chance and each.group]
            shown = clear[: max(3, SHOWN // len(parts))]
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
            chance = [each for each in losses if each not in above_chance and each.group]
            rest = "within chance" if "score" in result.errors else ""
            for name, merged in (("smaller", clear[len(shown) :]), (rest, chance)):
                if merged:
                    units = sum(each.units for each in merged)
                    label = f"{len(merged):,} {name}" if name else counted(len(merged), *words)
                    add(label, "part rest" if title else "rest", units)
                    top -= units
            top -= sum(each.units for each in losses if not each.group)
        best = number(result.scale.text(result.best_units))
        return cls(_sentence(result, classes, whose), best, number(result.score), tuple(bars), marks)


def _by_term(result: SplitResult) -> dict[str, list[Loss]]:
    """Return the losses of each term, the largest first, and the largest term first."""
    parts: dict[str, list[Loss]] = {}
    for each in result.all_losses:
        parts.setdefault(each.term, []).append(each)
    return dict(sorted(parts.items(), key=lambda item: -sum(each.units for each in item[1])))


def _sentence(result: SplitResult, classes: ClassNames, whose: str) -> str:
    """Describe the largest loss, and the largest part of it, in the competition's words."""
    name, losses = next(iter(_by_term(result).items()))
    term = next((each for each in result.about.terms if each.name == name), None)
    first = losses[0]

    def size(units: int) -> str:
        """Return the size of a loss."""
        return number(result.scale.size_text(units))

    whole = f"{size(sum(each.units for each in losses))} of the score"
    is_clear = first in result.losses
    if term and not (is_clear and first.group):
        low = f": {phrase(term.low, classes)}" if term.low else ""
        return f"The largest loss is {term.title} ({whole}){low}."
    if not is_clear:
        if "score" in result.errors:
            return "No loss of a group exceeds two standard errors of the score."
        return "No group is named until the standard error of the score is known."
    equal = sum(each.units == first.units for each in losses)
    words = result.about.group_words
    group = column_name(first.group) + (
        f" or {counted(equal - 1, *(f'other {word}' for word in words))}" if equal > 1 else ""
    )
    part = f"{group} ({size(first.units)} of the score{' each' if equal > 1 else ''})"
    if term is None:
        reason = "by its number of rows and its distance from the best possible value"
        return f"The largest loss is {part}, {reason}."
    fault = f": {whose} {term.fault.format(name=group, **words_of(classes))}" if term.fault else ""
    return f"The largest loss is {term.title} ({whole}). Its largest part is {part}{fault}."
