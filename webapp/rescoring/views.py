"""Scoring version view: progress, settings check, difference, suggested message."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from grader.models import JobState, OrganizerJob, ScoringVersion, Split
from grader.ranking.comparison import BoardChange, TeamChange
from grader.services.competitions.metric import Rules, of_version
from grader.services.rescoring.difference import Compared, Preview
from grader.services.rescoring.preparation import JobProgress
from grader.services.site import organizer_jobs
from grader.services.solutions.check_jobs import asked_settings
from webapp.leaderboards.views import change
from webapp.presentation import formats
from webapp.rescoring.answers import BoardDifference, DifferenceAnswer

SHOWN_TEAMS = 50
SHOWN_SELECTIONS = 50
SHOWN_DIGITS = 12  # of the hash of a metric.py


def progress_sentence(progress: JobProgress) -> str:
    """Return the progress of a scoring version as a sentence."""
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
    """A check of changed settings: its state, and the changes from the settings in use."""

    job: OrganizerJob
    live: ScoringVersion

    @property
    def is_open(self) -> bool:
        """Whether the job is waiting or running."""
        return organizer_jobs.is_open(self.job)

    @property
    def words(self) -> str:
        """Current activity of the job, as text."""
        return self.job.progress.get("words") or "Waiting for a worker"

    @property
    def failure(self) -> str:
        """Reason why there is no result; empty if there is one."""
        if self.job.state is JobState.REJECTED:
            return " ".join(problem["message"] for problem in self.job.problems)
        if self.job.state is JobState.FAILED:
            return f"The job failed because of a server error. See incident {self.job.incident} in the log."
        return ""

    @property
    def changes(self) -> list[tuple[str, str, str]]:
        """Return the name, the current and the new value of each changed setting."""
        return _changed(Rules.of(self.live), asked_settings(self.job).rules)


def changed_settings(versions: Compared) -> list[tuple[str, str, str]]:
    """Return the metric settings that differ between two versions: name, before, after."""
    before, after = (Rules.of(each) for each in (versions.before, versions.after))
    return _changed(before, after)


def _changed(old: Rules, new: Rules) -> list[tuple[str, str, str]]:
    before, after = dict(_settings(old)), dict(_settings(new))
    names = [*after, *(words for words in before if words not in after)]
    changes = ((words, before.get(words, ""), after.get(words, "")) for words in names)
    return [(words, old, new) for words, old, new in changes if old != new]


def _settings(rules: Rules) -> Iterator[tuple[str, str]]:
    metric, formula = rules.form, rules.form.formula
    about = metric.describe()  # the groups in the score may not be known yet
    yield "Metric", about.title
    yield "Identities in the score", ", ".join(rules.identities)
    yield "Power", f"{formula.power:g}"
    for term in about.terms:
        if term.weight is not None:
            yield f"Weight of {term.heading or term.title}", f"{term.weight:g}"
    yield "Label threshold", f"{formula.label_threshold:g}"
    yield "Identity threshold", f"{formula.identity_threshold:g}"
    yield "metric.py", (metric.source or "")[:SHOWN_DIGITS]
    yield "Arguments of metric.py", json.dumps((metric.python or {}).get("arguments", {}))
    yield "Positive class", metric.positive or "".join(metric.classes[-1:])
    yield "Places that count", f"{metric.cutoff}"
    yield "Weight of the overall value", f"{metric.weight:g}"
    yield "Groups in the score", ", ".join(" = ".join(each) for each in metric.scored_groups)
    yield "Reported metrics", ", ".join(metric.reported)


def movement(team: TeamChange) -> tuple[str, str]:
    """Return a team's rank change as text, and the CSS class of its direction."""
    if team.after is None:
        return "gone", "down"
    return change(team.rank_change) if team.rank_change is not None else ("new", "up")


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


def _mean_lines(
    means: Mapping[Split, Mapping[Any, tuple[float, float]]], name_of: Callable[[Any], str]
) -> list[tuple[str, float, list[tuple[str, float, float, str]]]]:
    """Return each split with the end of its bars, 1 or the largest mean, and the means with their names."""
    return [
        (
            split.value,
            max([1.0, *(mean for pair in means[split].values() for mean in pair)]),
            [
                (name_of(key), before, after, _signed(after - before))
                for key, (before, after) in means[split].items()
            ],
        )
        for split in Split
        if means.get(split)
    ]


def _signed(change: float) -> str:
    return "0" if not round(change, 4) else f"{change:+.4f}"


def difference_tables(found: Preview, made: DifferenceAnswer) -> dict[str, Any]:
    """Return the tables of the difference page beside the read model."""
    specs = of_version(found.versions.after).describe().terms
    names = {spec.name: spec.heading or spec.title for spec in specs}
    # The value of predictions that are not related to the target, if the terms have the same one.
    chance = {spec.chance for spec in specs}
    difference = found.difference
    before, after = found.versions.scales
    return {
        "found": found,
        "before_text": before.text,
        "text": after.text,
        "movement": movement,
        "settings": changed_settings(found.versions),
        "has_identities": Rules.of(found.versions.after).form.takes_identities,
        "boards": [
            _board("public", found, difference.public, made.public),
            _board("private", found, difference.private, made.private),
        ],
        "chance": f"{chance.pop():g}" if len(chance) == 1 and None not in chance else None,
        "terms": _mean_lines(found.term_means, names.__getitem__),
        "groups": _mean_lines(found.group_means, " = ".join),
        "selections": difference.selections[:SHOWN_SELECTIONS],
    }


def _board(key: str, found: Preview, change: BoardChange, made: BoardDifference) -> dict[str, Any]:
    lines = change.teams[:SHOWN_TEAMS]
    changes = [team.score_change for team in change.teams if team.score_change is not None]
    return {
        "key": key,
        "name": f"{key.capitalize()} leaderboard",
        "page": made,
        "lines": lines,
        "movers": [team for team in change.most_moved(10) if team not in lines],
        "tops": [each for each in made.tops if each.top < max(2, made.team_count)],
        "sentence": _board_sentence(found, change, changes),
    }


def suggested_notice(version: ScoringVersion, competition_title: str) -> str:
    """Return the suggested message to participants."""
    return (
        f"The scores of {competition_title} now use scoring version {version.number}. {version.reason}\n\n"
        "Your files did not change, and the rescoring did not use any of your submissions."
    )
