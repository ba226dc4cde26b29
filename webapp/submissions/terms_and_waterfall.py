"""Terms, weakest group and waterfall of a submission for its page."""

from dataclasses import dataclass
from typing import NamedTuple

from fairboard.interface import TermSpec
from fairboard.lost_score import Loss
from grader.ranking.order import term_text
from grader.services.leaderboards import group_tables
from grader.services.leaderboards.submission_results import IdentityRow, SplitResult
from webapp.presentation import formats
from webapp.presentation.formats import capitalized, column_name, number
from webapp.presentation.terms import IDENTITY_TERMS, ClassNames, phrase, words_of

SHORT = 6  # significant digits of large figures
TERM_SCALES = (0.95, 0.9, 0.8, 0.5)  # possible lower ends of the terms' bars


class TermView(NamedTuple):
    """A term: its value as text, and as a length from 0 to 100 on a scale from `low` to 1 if it is an AUC."""

    term: TermSpec
    text: str
    low: float
    length: str
    is_weakest: bool
    error: float | None


def shown_terms(result: SplitResult) -> list[TermView]:
    """Return the visible terms of a score; all bars start at the highest round value below all terms."""
    decimals, is_shaded = result.about.decimals_of_terms, result.about.is_weighted_sum
    lowest = min(result.terms.values(), default=1.0)
    low = next((low for low in TERM_SCALES if low < lowest), 0.0)
    return [
        TermView(
            term,
            formats.number(term_text(value, decimals), SHORT),
            low,
            f"{100 * (value - low) / (1 - low):.1f}" if is_shaded else "",
            term.name == result.weakest_term,
            result.errors.get(term.name),
        )
        for term in result.about.terms
        if (value := result.terms.get(term.name)) is not None
    ]


def weakest_first(result: SplitResult) -> list[IdentityRow]:
    """Return the identities ordered by their largest distance from the best identity in a column."""
    cells = {term.name: [row.cells.get(term.name) for row in result.identities] for term in IDENTITY_TERMS}
    best = {
        key: max((each for each in values if each is not None), default=0.0) for key, values in cells.items()
    }

    def behind(row: IdentityRow) -> float:
        return max(best[key] - value for key in best if (value := row.cells.get(key, best[key])) is not None)

    return sorted(result.identities, key=lambda row: (-behind(row), row.name))


class Weakest(NamedTuple):
    """The name of the weakest group, which is empty if there is none, with a note about its value."""

    word: str
    name: str
    note: str


def weakest(result: SplitResult) -> Weakest | None:
    """Describe the weakest group in the same words on all pages; return None without visible groups."""
    word, group = "identity" if result.about.cells else "group", result.weakest_group
    rows = f"{result.split.value} rows"
    if not result.values:
        return None
    if group is None:
        return Weakest(word, "", f"no {word} is clearly behind the others, {rows}")
    titles = {each.name: each.title for each in result.about.terms}
    if title := titles.get(group.column):
        value, distance, name = f"{title} {group.value:.2f}", f"{group.distance:.2f}", column_name(group.name)
    else:
        value, distance = (number(group_tables.text(each)) for each in (group.value, group.distance))
        name = f"{column_name(group.column)} = {group.name}"
    return Weakest(word, name, f"{value}, {distance} behind the best {word}, {rows}")


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
        if worst := result.weakest_group:
            fault = terms[worst.column].fault if worst.column in terms else ""
            words = words_of(classes)
            because = f": the model {fault.format(name=column_name(worst.name), **words)}" if fault else ""
            sentences[-1] = f"The weakest {group.word} is {group.name} ({group.note}){because}."
    return " ".join(sentences)
