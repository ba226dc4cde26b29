"""The API's requests and answers about fair play: lines with their evidence, and marks."""

from typing import Annotated

from pydantic import Field

from grader.fair_play.probing import Sign
from grader.models import FairPlayMark, PlaceKind
from webapp.http.fields import Answer, Moment, Sent, Text
from webapp.http.organizer_operations import Job
from webapp.organizers.fair_play.views import CanaryView, FileLine, PairLine, TeamLine


class MarkAnswer(Answer):
    """An organizer looked at a line and found nothing wrong; null while nobody did."""

    reason: str
    by: str | None
    at: Moment


class SignedFile(Answer):
    """A file with signs of probing, and a sentence of evidence for each."""

    submission_id: int
    submitted_at: Moment
    signs: list[Sign]
    evidence: list[str]


class ProbingTeam(Answer):
    """A team several of whose files have signs of probing."""

    line: str
    team_id: int
    team: str
    file_count: int
    sign_count: int
    files: list[SignedFile]
    mark: MarkAnswer | None


class AlikeFile(Answer):
    """One of two files that are alike."""

    submission_id: int
    team_id: int
    team: str
    submitted_at: Moment


class AlikePair(Answer):
    """Two files of different teams that are alike; `known_ids` are files of organizers that explain it."""

    line: str
    one: AlikeFile
    other: AlikeFile
    has_same_bytes: bool
    has_same_order: bool
    third_id: int | None
    agreement: float
    correlation: float
    moved: int
    rows: int
    known_ids: list[int]
    evidence: list[str]
    mark: MarkAnswer | None


class FollowingFile(Answer):
    """A file that follows the coins of the canary rows too well for chance; it may be a benchmark.

    It orders `as_drawn` of the `pairs` of a row with coin 1 and one with coin 0 as the coins do; `chance` is
    the probability that an honest file orders as many so.
    """

    line: str
    submission_id: int
    team_id: int
    team: str
    is_known: bool
    pairs: int
    as_drawn: float
    chance: float
    evidence: list[str]
    mark: MarkAnswer | None


class CanaryRowsAnswer(Answer):
    """How many canary rows there are, and the files that follow them.

    With `are_too_few` rows for the files that were looked at, none can be named.
    """

    rows: int
    are_too_few: bool
    files: list[FollowingFile]


class FairPlay(Answer):
    """Signs of unfair play in a competition, visible only to organizers."""

    job: Job | None
    looked_at: Annotated[
        Moment | None, Field(description="When the latest analysis finished; null if there is none.")
    ]
    file_count: int
    unread_count: int
    older_count: int
    teams: list[ProbingTeam]
    pairs: list[AlikePair]
    canaries: Annotated[CanaryRowsAnswer | None, Field(description="Null without canary rows.")]


class MarkRequest(Sent):
    """A line that was looked at, and why nothing is wrong."""

    line: Text
    reason: Text


def mark(found: FairPlayMark | None) -> MarkAnswer | None:
    """Return a mark."""
    if found is None:
        return None
    by = found.marked_by.name if found.marked_by else None
    return MarkAnswer(reason=found.reason, by=by, at=found.marked_at)


def team(line: TeamLine) -> ProbingTeam:
    """Return a team with signs."""
    return ProbingTeam.of(
        line,
        file_count=line.found.file_count,
        sign_count=line.found.sign_count,
        files=[_file(file) for file in line.files],
        mark=mark(line.mark),
    )


def pair(line: PairLine) -> AlikePair:
    """Return two files that are alike."""
    one, other = (
        AlikeFile.of(each, submission_id=each.id, team=each.team.name) for each in (line.one, line.other)
    )
    return AlikePair.of(
        line.found,
        line=line.line,
        one=one,
        other=other,
        evidence=list(line.sentences),
        mark=mark(line.mark),
    )


def canaries(view: CanaryView) -> CanaryRowsAnswer:
    """Return the files that follow the canary rows."""
    files = [
        FollowingFile(
            line=line.line,
            team_id=line.submission.team_id,
            team=line.submission.team.name,
            evidence=list(line.sentences),
            mark=mark(line.mark),
            **line.found.as_dict(),
        )
        for line in view.lines
    ]
    return CanaryRowsAnswer(rows=view.rows, are_too_few=view.are_too_few, files=files)


def _file(line: FileLine) -> SignedFile:
    return SignedFile(
        submission_id=line.submission.id,
        submitted_at=line.submission.submitted_at,
        signs=[Sign(sign) for sign in line.signs],
        evidence=list(line.sentences),
    )


class PlaceLogins(Answer):
    """How often and when a member of a team logged in from a shared place."""

    person: str
    team_id: int
    team: str
    login_count: int
    first_at: Moment
    last_at: Moment


class SharedPlaceAnswer(Answer):
    """An address or a browser that a few teams share; which one it is stays unknown."""

    kind: PlaceKind
    has_same_file: bool
    logins: list[PlaceLogins]


class SharedByMany(Answer):
    """An address or a browser that many teams share, which says nothing about any of them."""

    kind: PlaceKind
    team_count: int
    person_count: int


class MovedAnswer(Answer):
    """A person who sent files for a team and is in another one now."""

    person: str
    earlier_team_id: int
    team_id: int
    submission_count: int
    last_sent_at: Moment


class MergedAnswer(Answer):
    """A team that was merged into another."""

    team_id: int
    into_team_id: int
    at: Moment | None


class SamePeopleAnswer(Answer):
    """What teams share; `is_noted` is false where the operator has switched off that logins are noted."""

    is_noted: bool
    places: list[SharedPlaceAnswer]
    shared_by_many: list[SharedByMany]
    moved: list[MovedAnswer]
    merged: list[MergedAnswer]
