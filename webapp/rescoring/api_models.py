"""API models for rescoring, and the texts and tables of its pages."""

from itertools import islice
from typing import Annotated, Any

from pydantic import Field

from grader.models import MAIN_BOARD, ScoringVersion, ScoringVersionState, Split
from grader.ranking.comparison import BoardChange, TeamChange
from grader.services.competitions.metric import Rules
from grader.services.competitions.settings_model import PARTS, SETTINGS
from grader.services.rescoring.difference import Preview
from grader.services.rescoring.preparation import Progress
from webapp.http.fields import Answer, Confirmation, Moment, Number, Score, Sent, Text
from webapp.http.organizer_operations import Job

MOST_MOVED = 50


class RescoringRequest(Sent):
    """The check of a corrected solution or of changed settings to rescore with, and the reason."""

    solution: Annotated[Number | None, Field(description="The id of a solution check.")] = None
    settings: Annotated[Number | None, Field(description="The id of a settings check.")] = None
    reason: Text = ""


class VersionStarted(Answer):
    """A scoring version that is being prepared or was published, and the address of its progress."""

    number: int
    is_preparing: Annotated[bool, Field(description="False if the same rescoring was already published.")]
    url: str


class ScoringVersionLine(Answer):
    """A scoring version."""

    number: int
    state: ScoringVersionState
    reason: str
    notice: str
    solution: int
    created_by: str
    created_at: Moment
    published_at: Moment | None
    replaced_number: int | None


class ScoringVersionList(Answer):
    """The scoring versions of a competition, the newest first."""

    versions: list[ScoringVersionLine]
    next: None = None


class ScoringVersionDetails(ScoringVersionLine):
    """A scoring version, its progress and its changes."""

    progress: Progress
    metric: dict[str, Any]
    changes: dict[str, Any] | None
    is_final: bool


class PublicationRequest(Confirmation):
    """The message to participants when scores change; by default none."""

    notice: Text = ""
    lose_scores: bool = False


class RollbackRequest(PublicationRequest):
    """The reason for a rollback, with the message to participants."""

    reason: Text


class MetricInUse(Answer):
    """The identities and the metric settings in use, and the newest check of changed settings."""

    identities: list[str]
    metric: dict[str, Any]
    check: Job | None


class TeamMove(Answer):
    """A team on a leaderboard under both versions; values are null for a version without the team."""

    team: str
    rank_before: int | None
    rank_after: int | None
    score_before: Score | None
    score_after: Score | None
    submission_before: int | None
    submission_after: int | None


class BoardDifference(Answer):
    """The changes on a leaderboard; `moved` lists the first 50 teams whose rank or score changes."""

    team_count: int
    moved_count: int
    moved: list[TeamMove]
    leader_changes: bool


class DifferenceAnswer(Answer):
    """The changes that a version makes to complete leaderboards, as sentences and figures."""

    before: int
    after: int
    sentences: list[str]
    unfinished: int
    lost: int
    scored: int
    changed: int
    public: BoardDifference
    private: BoardDifference
    selection_count: int
    mean_changes: Annotated[
        dict[str, dict[str, float]],
        Field(description="The mean changes of the terms and of the scores of the groups, by split."),
    ]
    table: Annotated[str, Field(description="The URL of the CSV file with the scores of all submissions.")]


def details(version: ScoringVersion, progress: Progress) -> ScoringVersionDetails:
    """Return a scoring version and its progress as the API model."""
    return ScoringVersionDetails.of(
        version,
        solution=version.solution.number,
        progress=progress,
        metric=Rules.of(version).as_dict(),
        changes=version.solution.report.get("changes"),
        is_final=progress.is_final,
    )


def difference(preview: Preview, *, table: str) -> DifferenceAnswer:
    """Return the changes that a version makes as the API model."""
    return DifferenceAnswer(
        before=preview.versions.before.number,
        after=preview.versions.after.number,
        sentences=list(preview.sentences()),
        unfinished=preview.progress.unfinished,
        lost=preview.progress.lost,
        scored=preview.scored[1],
        changed=preview.changed,
        public=_board(preview, preview.boards[MAIN_BOARD, Split.PUBLIC]),
        private=_board(preview, preview.boards[MAIN_BOARD, Split.PRIVATE]),
        selection_count=len(preview.selections),
        mean_changes={
            split: {name: after - before for name, (before, after) in means.items()}
            for split, means in preview.means.items()
        },
        table=table,
    )


def _board(preview: Preview, board: BoardChange) -> BoardDifference:
    before, after = board.leaders
    lines = (_move(preview, team) for team in board.teams)
    changed = (
        line for line in lines if (line.rank_before, line.score_before) != (line.rank_after, line.score_after)
    )
    return BoardDifference(
        team_count=len(board.teams),
        moved_count=len(board.moved),
        moved=list(islice(changed, MOST_MOVED)),
        leader_changes=before != after,
    )


def _move(preview: Preview, team: TeamChange) -> TeamMove:
    before, after = team.before, team.after
    old, new = preview.versions.scales
    return TeamMove(
        team=preview.teams[team.team_id],
        rank_before=team.rank_before,
        rank_after=team.rank_after,
        score_before=float(old.text(before.score_units)) if before else None,
        score_after=float(new.text(after.score_units)) if after else None,
        submission_before=before.submission_id if before else None,
        submission_after=after.submission_id if after else None,
    )


def changed(live: ScoringVersion, new: Rules) -> list[tuple[str, str, str]]:
    """Return the metric settings that differ from those of a version: name, before, after."""
    before, after = _settings(Rules.of(live)), _settings(new)
    labels = {name: each.label for name, each in {**SETTINGS, **PARTS}.items()}
    return [
        (
            labels.get(name, name.replace("_", " ").capitalize()),
            _text(before.get(name)),
            _text(after.get(name)),
        )
        for name in after | before
        if before.get(name) != after.get(name)
    ]


def _settings(rules: Rules) -> dict[str, Any]:
    """Return all settings of a metric by name."""
    metric, formula = rules.metric, rules.metric.formula.as_dict()
    parts = formula.pop("weights") | formula | (metric.python or {})
    parts["positive"] = metric.positive or "".join(metric.classes[-1:])
    return {"identities": rules.identities, **metric.model_dump(exclude={"python"}), **parts}


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(" = ".join(each) if isinstance(each, tuple) else each for each in value)
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value)


def suggested_notice(version: ScoringVersion, competition_title: str) -> str:
    """Return the suggested message to participants."""
    return (
        f"The scores of {competition_title} now use scoring version {version.number}. {version.reason}\n\n"
        "Your files did not change, and the rescoring did not use any of your submissions."
    )
