"""Submission view for pages and API: status, scores, problems."""

from typing import NamedTuple

from fairboard.interface import TermSpec
from grader.ranking.order import SCALE, error_text, term_text
from grader.services.leaderboards.submission_results import IdentityRow, Overview, SplitResult
from grader.services.submissions.selections import Reason
from webapp.presentation import formats
from webapp.presentation.terms import IDENTITY_TERMS, NAMES

SHORT = 6  # significant digits of large figures
TERM_SCALES = (0.95, 0.9, 0.8, 0.5)  # possible lower ends of the terms' bars

REASONS = {
    Reason.PICKED: "you selected it",
    Reason.PICKED_WAITING: "you selected it, but it is not scored yet",
    Reason.AUTOMATIC: "chosen automatically (best public score)",
}


class LargeFigure(NamedTuple):
    """A large figure: label, value, and a short note."""

    label: str
    value: str
    note: str = ""


def figures(summary: Overview, *, is_organizers: bool = False) -> tuple[LargeFigure, ...]:
    """Return the figures for a score or, if the score is hidden, only for the team's rank."""
    whose = "the team's" if is_organizers else "your"
    if summary.public is None:
        return _rank(summary, whose)
    weakest, error = summary.public.weakest_term, summary.public.errors.get("score")
    notes = [f"standard error {error_text(error)}"] if error else []
    notes += [f"weakest term: {NAMES[weakest]}"] if weakest else []
    shown = formats.number(summary.public.score, SHORT)
    score = LargeFigure("Public score", shown, formats.capitalized("; ".join(notes)))
    return (score, _change(summary, whose), *_rank(summary, whose))


def _change(summary: Overview, whose: str) -> LargeFigure:
    if summary.gain_units is None or summary.best_before_units is None:
        return LargeFigure("Change", "First", f"{whose} first score")
    scale = summary.public.scale if summary.public else SCALE
    gain, before = summary.gain_units, formats.number(scale.text(summary.best_before_units), SHORT)
    which = f" (#{summary.best_before_id})"
    if gain > 0:
        note = f"{whose} best{'' if summary.rank else ' at the time'}; previous best {before}{which}"
    elif gain == 0:
        note = f"equal to {whose} earlier best{which}"
    else:
        note = f"below {whose} previous best, {before}{which}"
    return LargeFigure("Change", formats.number(scale.signed_text(gain), SHORT), note)


def _rank(summary: Overview, whose: str) -> tuple[LargeFigure, ...]:
    if summary.would_rank is not None:
        return (LargeFigure("Would rank", formats.ordinal(summary.would_rank), "late files are not ranked"),)
    if summary.team_rank is None:
        return ()
    place, label = formats.ordinal(summary.team_rank), "Public rank" if summary.private else "Rank"
    if summary.rank is None:
        return (LargeFigure(label, place, f"by {whose} best, #{summary.best_id}"),)
    notes = [f"of {summary.team_count:,}"] if summary.team_count else []
    if summary.previous_rank is not None:
        places = summary.previous_rank - summary.rank
        notes.append(f"up {places:,}" if places else "unchanged")
    return (LargeFigure(label, place, ", ".join(notes)),)


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
    """Return the identities ordered by loss, then by the AUC of the weakest term and the lowest AUC."""
    terms = {term.name for term in IDENTITY_TERMS}
    ranked = (result.weakest_term, *(each.term for each in result.costs))
    weakest = next((term for term in ranked if term in terms), "")
    losses = {each.group: each.units for each in reversed(result.all_losses)}

    def weakness(row: IdentityRow) -> tuple[float, float, float, str]:
        values = [value for term in IDENTITY_TERMS if (value := row.cells[term.name]) is not None]
        first = row.cells.get(weakest)
        return -losses.get(row.name, 0), 2.0 if first is None else first, min(values, default=2.0), row.name

    return sorted(result.identities, key=weakness)


def steps(*, is_being_scored: bool) -> list[tuple[str, str]]:
    """Return the steps of a pending submission with their states."""
    return [
        ("Received", "done"),
        ("Queued", "done" if is_being_scored else "here"),
        ("Checking and scoring", "here" if is_being_scored else ""),
        ("Score", ""),
    ]
