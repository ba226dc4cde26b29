"""Scoring version view: progress, settings check, difference, suggested message."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from grader.charts.slopes import Slope, slope_chart
from grader.charts.strips import change_strip
from grader.models import JobState, OrganizerJob, ScoringVersion, Split
from grader.ranking.comparison import BoardChange, ScorePair, TeamChange
from grader.services.competitions.metric import Rules
from grader.services.rescoring.difference import TOPS, Changes, Compared, Preview
from grader.services.rescoring.preparation import JobProgress
from grader.services.solutions.check_jobs import asked_settings
from webapp.leaderboards.views import change
from webapp.presentation import formats
from webapp.presentation.terms import NAMES

SHOWN_TEAMS = 50
SHOWN_SELECTIONS = 50


class ProgressView:
    """The progress of a scoring version."""

    def __init__(self, progress: JobProgress) -> None:
        self.total = progress.total
        self.finished = progress.finished
        self.percent = formats.percent(progress.finished, progress.total) if progress.total else "100%"
        self.failed = progress.failed
        self.is_complete = not progress.open
        self.sentence = _progress_sentence(progress)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON that the rescoring page polls."""
        return {"finished": self.finished, "total": self.total, "is_final": self.is_complete}


def _progress_sentence(progress: JobProgress) -> str:
    done = f"{progress.finished:,} of {formats.counted(progress.total, 'submission')} scored"
    if not progress.open:
        return f"{done}."
    if not progress.per_second:
        return f"{done}. Workers score the rest automatically."
    rate = (
        f"{progress.per_second:,.0f} per second"
        if progress.per_second >= 1
        else f"{60 * progress.per_second:,.1f} per minute"
    )
    left = formats.span(timedelta(seconds=progress.open / progress.per_second))
    return f"{done}, {rate}, about {left} left."


@dataclass(frozen=True, slots=True)
class SettingsCheckView:
    """A check of changed settings: its state, and the changes."""

    id: int
    state: str
    doing: str
    problems: tuple[str, ...]
    incident: str | None
    changes: list[tuple[str, str, str]]

    @classmethod
    def of(cls, job: OrganizerJob, live: ScoringVersion | None) -> "SettingsCheckView":
        """Return a job as displayed, compared with the settings in use."""
        is_open = job.state in (JobState.WAITING, JobState.CLAIMED)
        return cls(
            id=job.id,
            state="open" if is_open else job.state.value,
            doing=job.progress.get("words", "Waiting for a worker"),
            problems=tuple(problem["message"] for problem in job.problems),
            incident=job.incident,
            changes=_changed(Rules.of(live), asked_settings(job).rules) if live else [],
        )


def changed_settings(versions: Compared) -> list[tuple[str, str, str]]:
    """Return the metric settings that differ between two versions: name, before, after."""
    before, after = (Rules.of(each) for each in (versions.before, versions.after))
    return _changed(before, after)


def _changed(old: Rules, new: Rules) -> list[tuple[str, str, str]]:
    before, after = dict(_settings(old)), dict(_settings(new))
    return [(words, before[words], after[words]) for words in after if before[words] != after[words]]


def _settings(rules: Rules) -> Iterator[tuple[str, str]]:
    metric = rules.bias
    yield "Identities in the score", ", ".join(rules.identities)
    yield "Power", f"{metric.power:g}"
    for term, weight in metric.weights.as_dict().items():
        yield f"Weight of {NAMES[term]}", f"{weight:g}"
    yield "Label threshold", f"{metric.label_threshold:g}"
    yield "Identity threshold", f"{metric.identity_threshold:g}"


@dataclass(frozen=True, slots=True)
class ComparedTeam:
    """A row of a leaderboard comparison: a team under both versions, formatted."""

    team: str
    rank_before: str
    rank_after: str
    moved: str
    direction: str
    score_before: str
    score_after: str
    score_change: str
    submission: str

    @classmethod
    def of(cls, found: Preview, team: TeamChange) -> "ComparedTeam":
        """Return the row of a team."""
        moved, direction = change(team.rank_change) if team.rank_change is not None else ("new", "up")
        if team.after is None:
            moved, direction = "gone", "down"
        return cls(
            team=found.teams[team.team_id],
            rank_before=f"{team.before.rank:,}" if team.before else "",
            rank_after=f"{team.after.rank:,}" if team.after else "",
            moved=moved,
            direction=direction,
            score_before=found.scale.text(team.before.entry.score_units) if team.before else "",
            score_after=found.scale.text(team.after.entry.score_units) if team.after else "",
            score_change=found.change_text(team.score_change) or "",
            submission=(
                f"#{team.after.entry.submission_id} instead of #{team.before.entry.submission_id}"
                if team.is_other_submission and team.before and team.after
                else ""
            ),
        )


@dataclass(frozen=True, slots=True)
class TopLine:
    """The teams that enter and leave the first `top` ranks of a leaderboard."""

    top: int
    entering: tuple[str, ...]
    leaving: tuple[str, ...]


class BoardChangeView:
    """The changes on one leaderboard."""

    def __init__(self, key: str, name: str, found: Preview, board: BoardChange) -> None:
        self.key = key
        self.name = name
        self.team_count = len(board.teams)
        self.moved_count = len(board.moved)
        self.lines = [ComparedTeam.of(found, team) for team in board.teams[:SHOWN_TEAMS]]
        shown = {team.team_id for team in board.teams[:SHOWN_TEAMS]}
        self.movers = [
            ComparedTeam.of(found, team) for team in board.most_moved(10) if team.team_id not in shown
        ]
        self.tops = [
            TopLine(top, _names(found, board.entering(top)), _names(found, board.leaving(top)))
            for top in TOPS
            if top < max(2, len(board.teams))
        ]
        self.leader_changes = bool(board.entering(1))
        self.slopes = slope_chart(
            [
                Slope(team.after.rank, team.before.rank, found.teams[team.team_id], False)
                for team in board.teams
                if team.before and team.after
            ],
            names=(f"Version {found.versions.before.number}", f"Version {found.versions.after.number}"),
        )
        changes = [team.score_change for team in board.teams if team.score_change is not None]
        self.strip = change_strip(changes, found.scale)
        self.sentence = _board_sentence(found, board, changes)


def _board_sentence(found: Preview, board: BoardChange, changes: list[int]) -> str:
    """Return a sentence on the rank changes, the largest of them and the range of score changes."""
    count, moved = len(board.teams), len(board.moved)
    words = f"{moved:,} of {formats.counted(count, 'team')} {'changes' if moved == 1 else 'change'} rank"
    for most in board.most_moved(1):
        places = most.rank_change or 0
        verb = "gains" if places > 0 else "loses"
        words += f"; {found.teams[most.team_id]} {verb} {formats.counted(abs(places), 'rank')}"
    if any(changes):
        words += (
            f"; team scores change by {found.change_text(min(changes))} to {found.change_text(max(changes))}"
        )
    return f"{words}."


@dataclass(frozen=True, slots=True)
class TermLine:
    """A term's mean on one split under both versions, as text and as bar lengths from 0 to 1."""

    name: str
    before: str
    after: str
    change: str
    before_length: float
    after_length: float

    @classmethod
    def of(cls, name: str, before: float, after: float) -> "TermLine":
        """Return the row of a term."""
        lengths = (round(mean * 100, 1) for mean in (before, after))
        return cls(name, f"{before:.4f}", f"{after:.4f}", _signed(after - before), *lengths)


def _signed(change: float) -> str:
    return "0" if not round(change, 4) else f"{change:+.4f}"


def _names(found: Preview, teams: Iterable[TeamChange]) -> tuple[str, ...]:
    return tuple(found.teams[team.team_id] for team in teams)


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """The scores of a submission under both versions, formatted."""

    submission_id: int
    team: str
    kind: str
    public_before: str
    public_after: str
    public_change: str
    private_before: str
    private_after: str
    private_change: str

    @classmethod
    def of(cls, found: Preview, pair: ScorePair) -> "ScoreLine":
        """Return the row of a submission."""
        sides = (pair.before, pair.after)
        public = [found.scale.text(side.public_units) if side else "" for side in sides]
        private = [found.scale.text(side.private_units) if side else "" for side in sides]
        return cls(
            submission_id=pair.known.submission_id,
            team=found.teams[pair.known.team_id],
            kind=pair.known.kind.value,
            public_before=public[0],
            public_after=public[1],
            public_change=found.change_text(pair.public_change) or "",
            private_before=private[0],
            private_after=private[1],
            private_change=found.change_text(pair.private_change) or "",
        )


class DifferenceView:
    """All changes between a version and the one before it, as shown on the difference page."""

    def __init__(self, found: Preview) -> None:
        difference = found.difference
        self.before, self.after = found.versions
        self.settings = changed_settings(found.versions)
        self.is_complete = found.is_complete
        self.unfinished, self.lost = found.gaps
        self.summary = Changes.of(found).text
        self.boards = (
            BoardChangeView("public", "Public leaderboard", found, difference.public),
            BoardChangeView("private", "Private leaderboard", found, difference.private),
        )
        self.terms = [
            (
                split.value,
                [TermLine.of(NAMES[term], *means) for term, means in found.term_means[split].items()],
            )
            for split in Split
            if split in found.term_means
        ]
        self.largest = [ScoreLine.of(found, pair) for pair in difference.largest]
        self.selection_count = len(difference.selections)
        self.selections = [
            (
                found.teams[each.team_id],
                ", ".join(f"#{submission_id}" for submission_id in each.entering),
                ", ".join(f"#{submission_id}" for submission_id in each.leaving),
            )
            for each in difference.selections[:SHOWN_SELECTIONS]
        ]


def suggested_notice(version: ScoringVersion, competition_title: str) -> str:
    """Return the suggested message to participants."""
    return (
        f"The scores of {competition_title} now use scoring version {version.number}. {version.reason}\n\n"
        "Your files did not change, and the rescoring did not use any of your submissions."
    )
