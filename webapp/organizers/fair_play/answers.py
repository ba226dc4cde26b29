"""Read models of the fair play pages and API: entries with evidence, marks, shared logins."""

from typing import Annotated, Any

from pydantic import Field

from grader import db
from grader.fair_play import Sign
from grader.models import Competition, FairPlayMark, OrganizerJob, PlaceKind, Submission
from grader.services.fair_play import report, same_people
from grader.services.fair_play.report import FoundPair, FoundTeam
from webapp.http import organizer_operations as organizing
from webapp.http.fields import Answer, Moment, Sent, Text
from webapp.http.organizer_operations import Job
from webapp.organizers.fair_play import evidence


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
    agreement: float
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
    team_count: int
    unread_count: int
    older_count: int
    teams: list[ProbingTeam]
    pairs: list[AlikePair]


class MarkRequest(Sent):
    """An entry to mark, and the reason why nothing is wrong."""

    line: Text
    reason: Text


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
    logins: list[PlaceLogins]


class SamePeopleAnswer(Answer):
    """Connections between teams; `is_noted` is false if logins are not recorded."""

    is_noted: bool
    places: list[SharedPlaceAnswer]


def findings(session: Any, competition: Competition, newest: OrganizerJob | None) -> FairPlay:
    """Return the entries of the last analysis, omitting submissions and teams that no longer exist."""
    done, result = report.last(session, competition=competition) or (None, report.EMPTY)
    submissions = report.submissions(session, report=result)
    marks = report.marks_by_line(session, competition=competition)
    teams = (_team(team, submissions, marks.get(team.line)) for team in result.teams)
    pairs = [
        _pair(pair, submissions, marks.get(pair.line))
        for pair in result.pairs
        if pair.one_id in submissions and pair.other_id in submissions and pair.third_id is None
    ]
    return FairPlay.of(
        result,
        job=organizing.job(newest) if newest else None,
        looked_at=done.finished_at if done else None,
        teams=[team for team in teams if team is not None],
        pairs=pairs,
    )


def connections(session: Any, competition: Competition, *, is_noted: bool) -> SamePeopleAnswer:
    """Return the addresses and browsers that a few teams share."""
    places = [
        SharedPlaceAnswer(
            kind=place.kind,
            logins=[
                PlaceLogins.of(
                    logins,
                    person=logins.person.name,
                    team_id=logins.team.id,
                    team=logins.team.name,
                    login_count=logins.count,
                )
                for logins in place.logins
            ],
        )
        for place in same_people.shared_places(session, competition=competition, now=db.now(session))
    ]
    return SamePeopleAnswer(is_noted=is_noted, places=places)


def _mark(mark: FairPlayMark | None) -> MarkAnswer | None:
    if mark is None:
        return None
    by = mark.marked_by.name if mark.marked_by else None
    return MarkAnswer(reason=mark.reason, by=by, at=mark.marked_at)


def _team(
    team: FoundTeam, submissions: dict[int, Submission], mark: FairPlayMark | None
) -> ProbingTeam | None:
    # Reports of earlier versions also list files with other signs only.
    files = [
        SignedFile(
            submission_id=file.submission_id,
            submitted_at=submissions[file.submission_id].submitted_at,
            signs=signs,
            evidence=list(evidence.of_probing(file)),
        )
        for file in team.files
        if file.submission_id in submissions and (signs := [sign for sign in Sign if sign in file.signs])
    ]
    if not files:
        return None
    owner = submissions[files[0].submission_id].team
    return ProbingTeam.of(team, team_id=owner.id, team=owner.name, files=files, mark=_mark(mark))


def _pair(pair: FoundPair, submissions: dict[int, Submission], mark: FairPlayMark | None) -> AlikePair:
    one, other = (
        AlikeFile.of(submission, submission_id=submission.id, team=submission.team.name)
        for submission in (submissions[pair.one_id], submissions[pair.other_id])
    )
    sentences = list(evidence.of_similarity(pair))
    return AlikePair.of(pair, one=one, other=other, evidence=sentences, mark=_mark(mark))
