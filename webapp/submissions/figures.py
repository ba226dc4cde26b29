"""What the page of a submission says first: its score, the change against the best before, and the rank."""

from dataclasses import dataclass

from grader.ranking.order import SCORE_DECIMALS, error_text, score_text
from grader.services.leaderboards.submission_results import Summary
from webapp.presentation import formats
from webapp.presentation.terms import NAMES


@dataclass(frozen=True, slots=True)
class Figure:
    """A large figure: its label, its value, and a few words below."""

    label: str
    value: str
    note: str = ""


def figures(summary: Summary, *, is_organizers: bool = False) -> tuple[Figure, ...]:
    """Return the figures of a score, all from its displayed digits; without one the team's rank."""
    whose = "the team's" if is_organizers else "your"
    if summary.public is None:
        return _rank(summary, whose)
    weakest, error = summary.public.weakest_term, summary.public.errors.get("score")
    notes = [f"standard error {error_text(error)}"] if error else []
    notes += [f"weakest term: {NAMES[weakest]}"] if weakest else []
    score = Figure("Public score", summary.public.score, formats.capitalized("; ".join(notes)))
    return (score, _change(summary, whose), *_rank(summary, whose))


def _change(summary: Summary, whose: str) -> Figure:
    if summary.gain_units is None or summary.best_before_units is None:
        return Figure("Change", "First", f"{whose} first score")
    decimals = summary.public.decimals if summary.public else SCORE_DECIMALS
    gain, before = summary.gain_units, score_text(summary.best_before_units, decimals)
    which = f" (#{summary.best_before_id})"
    if gain > 0:
        note = f"{whose} best{'' if summary.rank else ' when it came'}; before it {before}{which}"
    elif gain == 0:
        note = f"equal to {whose} best, which came earlier{which}"
    else:
        note = f"below {whose} best before it, {before}{which}"
    return Figure("Change", signed_units(gain, decimals), note)


def _rank(summary: Summary, whose: str) -> tuple[Figure, ...]:
    if summary.would_rank is not None:
        return (Figure("Would be", formats.ordinal(summary.would_rank), "late files are not ranked"),)
    if summary.team_rank is None:
        return ()
    place = formats.ordinal(summary.team_rank)
    if summary.rank is None:
        return (Figure("Rank", place, f"by {whose} best, #{summary.best_id}"),)
    of_all = f"of {summary.team_count:,}" if summary.team_count else ""
    return (Figure("Rank", place, f"{of_all}{_movement(summary)}"),)


def _movement(summary: Summary) -> str:
    if summary.rank is None or summary.previous_rank is None:
        return ""
    places = summary.previous_rank - summary.rank
    return f", up {places:,}" if places else ", as before"


def signed_units(units: int, decimals: int = SCORE_DECIMALS) -> str:
    """Return a difference of scores with its sign; none before 0."""
    return f"{'-' if units < 0 else '+' if units else ''}{score_text(abs(units), decimals)}"
