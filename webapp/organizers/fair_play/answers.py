"""API models for fair play: entries with evidence, marks, shared logins."""

from typing import Annotated

from pydantic import Field

from grader.fair_play.probing import Sign
from grader.models import FairPlayMark, PlaceKind
from webapp.http.fields import Answer, Moment, Sent, Text
from webapp.http.organizer_operations import Job
from webapp.organizers.fair_play.views import FileLine, PairLine, TeamLine


class MarkAnswer(Answer):
    """An organizer's mark on an entry, stating that nothing is wrong; null if there is no mark."""

    reason: str
    by: str | None
    at: Moment


class SignedFile(Answer):
    """A file with signs of probing, and one sentence of evidence for each sign."""

    submission_id: int
    submitted_at: Moment
    signs: list[Sign]
    evidence: list[str]


class ProbingTeam(Answer):
    """A team with several files that show signs of probing."""

    line: str
    team_id: int
    team: str
    file_count: int
    sign_count: int
    files: list[SignedFile]
    mark: MarkAnswer | None


class AlikeFile(Answer):
    """One of two similar files."""

    submission_id: int
    team_id: int
    team: str
    submitted_at: Moment


class AlikePair(Answer):
    """Two similar files of different teams; `known_ids` are organizers' files that explain the similarity."""

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


class FairPlay(Answer):
    """Signs of unfair play in a competition, visible only to organizers."""

    job: Job | None
    looked_at: Annotated[
        Moment | None,
        Field(description="The time at which the latest analysis finished; null if there is none."),
    ]
    file_count: int
    unread_count: int
    older_count: int
    teams: list[ProbingTeam]
    pairs: list[AlikePair]


class MarkRequest(Sent):
    """An entry to mark, and the reason why nothing is wrong."""

    line: Text
    reason: Text


def mark(found: FairPlayMark | None) -> MarkAnswer | None:
    """Return a mark as the API model."""
    if found is None:
        return None
    by = found.marked_by.name if found.marked_by else None
    return MarkAnswer(reason=found.reason, by=by, at=found.marked_at)


def team(line: TeamLine) -> ProbingTeam:
    """Return a team with signs of probing as the API model."""
    return ProbingTeam.of(
        line,
        file_count=line.found.file_count,
        sign_count=line.found.sign_count,
        files=[_file(file) for file in line.files],
        mark=mark(line.mark),
    )


def pair(line: PairLine) -> AlikePair:
    """Return two similar files as the API model."""
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


def _file(line: FileLine) -> SignedFile:
    return SignedFile(
        submission_id=line.submission.id,
        submitted_at=line.submission.submitted_at,
        signs=list(line.signs),
        evidence=list(line.sentences),
    )


class PlaceLogins(Answer):
    """The number and period of a team member's logins from a shared address or browser."""

    person: str
    team_id: int
    team: str
    login_count: int
    first_at: Moment
    last_at: Moment


class SharedPlaceAnswer(Answer):
    """An address or a browser that a few teams share; the response does not reveal which one it is."""

    kind: PlaceKind
    has_same_file: bool
    logins: list[PlaceLogins]


class SharedByMany(Answer):
    """An address or a browser that many teams share, which is no evidence against any of them."""

    kind: PlaceKind
    team_count: int
    person_count: int


class MovedAnswer(Answer):
    """A participant who submitted files for one team and is now a member of another."""

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
    """Connections between teams; `is_noted` is false if logins are not recorded."""

    is_noted: bool
    places: list[SharedPlaceAnswer]
    shared_by_many: list[SharedByMany]
    moved: list[MovedAnswer]
    merged: list[MergedAnswer]
