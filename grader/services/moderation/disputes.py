"""Disputes: teams' questions about their scores and organizers' answers."""

from datetime import datetime

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session, joinedload

from grader import db
from grader.errors import ErrorKind, OrganizerError, ParticipantError
from grader.models import Competition, Dispute, Submission, Team, TeamMember, User
from grader.services.competitions import lookup, organizers
from grader.services.competitions.acting import Act
from grader.services.mail import letters
from grader.services.mail.outbox import Notice
from grader.services.paging import PAGE_SIZE, Page, Part, Slice, page_of_query, slice_of_query
from grader.services.submissions import accepting
from grader.text import plain_text

TEXT_MAX_LENGTH = 5_000
MAX_OPEN = 5  # per team


class InvalidQuestion(ParticipantError):
    """The question is empty or too long."""

    public_name = "invalid_question"


class QuestionPending(ParticipantError):
    """The team has already asked a question about this submission, which has not been answered yet."""

    public_name = "already_asked"
    kind = ErrorKind.CONFLICT
    message = (
        "Your team has already asked about the score of #{submission_id}. The organizers have not answered "
        "yet."
    )


class TooManyOpen(ParticipantError):
    """The team has reached the maximum number of open questions."""

    public_name = "too_many_open"
    kind = ErrorKind.CONFLICT
    message = f"Your team has {MAX_OPEN} open questions. Wait until the organizers have answered one of them."


class InvalidAnswer(OrganizerError):
    """The answer is empty or too long."""

    public_name = "invalid_answer"


class UnknownDispute(OrganizerError):
    """The competition has no question with this id."""

    public_name = "unknown_dispute"
    kind = ErrorKind.NOT_FOUND
    message = "There is no question {dispute_id} in this competition."


def ask(
    session: Session, *, user: User, submission_id: int, question: str, now: datetime | None = None
) -> Dispute:
    """Ask about the score of one of the user's submissions, and e-mail the organizers.

    Raises UnknownSubmission, InvalidQuestion, QuestionPending or TooManyOpen.
    """
    submission = accepting.get_own(session, user=user, submission_id=submission_id)
    question = plain_text(question)
    if problem := _problem(question, "question"):
        raise InvalidQuestion(problem)
    competition = lookup.lock(session, competition_id=submission.competition_id)
    now = now or db.now(session)
    waiting = _open(competition).join(Submission).where(Submission.team_id == submission.team_id)
    open_ids = list(session.scalars(waiting.with_only_columns(Dispute.submission_id)))
    if submission_id in open_ids:
        raise QuestionPending(submission_id=submission_id)
    if len(open_ids) >= MAX_OPEN:
        raise TooManyOpen
    made = Dispute(
        competition_id=competition.id,
        submission_id=submission.id,
        asked_by_id=user.id,
        asked_at=now,
        question=question,
    )
    session.add(made)
    session.flush()
    _tell_organizers(session, competition, made, submission.team, now)
    return made


def answer(act: Act, *, dispute_id: int, answer: str) -> Dispute:
    """Answer a question or replace its answer, and notify and e-mail the team.

    Raises UnknownDispute or InvalidAnswer.
    """
    text = plain_text(answer)
    if problem := _problem(text, "answer"):
        raise InvalidAnswer(problem)
    dispute = act.session.get(Dispute, dispute_id, with_for_update=True)
    if dispute is None or dispute.competition_id != act.competition.id:
        raise UnknownDispute(dispute_id=dispute_id)
    before = dispute.answer
    dispute.answer, dispute.answered_at = text, act.now
    dispute.answered_by_id = None if act.actor.user is None else act.actor.user.id
    act.record(
        "dispute.answer",
        f"submission {dispute.submission_id}",
        before={"answer": before} if before else {},
        after={"question": dispute.question, "answer": text},
    )
    _tell_team(act.session, act.competition, dispute, act.now)
    return dispute


def of_submission(session: Session, *, submission: Submission) -> list[Dispute]:
    """Return a team's questions about a submission, oldest first."""
    query = select(Dispute).where(Dispute.submission_id == submission.id).order_by(Dispute.id)
    return list(session.scalars(query.options(joinedload(Dispute.asked_by))))


def page_of(session: Session, *, competition: Competition, page: int = 1) -> Page[Dispute]:
    """Return a page of disputes: first the open ones, oldest first, then the answered ones, newest first."""
    query = _of(competition).order_by(
        Dispute.answered_at.is_not(None), Dispute.answered_at.desc(), Dispute.asked_at, Dispute.id
    )
    return page_of_query(session, query, page=page, page_size=PAGE_SIZE)


def slice_of(session: Session, *, competition: Competition, part: Part) -> Slice[Dispute]:
    """Return a slice of the disputes, newest first."""
    key = Dispute.__table__.c.id
    return slice_of_query(session, _of(competition), key=key, part=part)


def count_open(session: Session, *, competition: Competition) -> int:
    """Return the number of open questions."""
    return session.scalar(_open(competition).with_only_columns(func.count(Dispute.id))) or 0


def _of(competition: Competition) -> Select[Dispute]:
    return (
        select(Dispute)
        .where(Dispute.competition_id == competition.id)
        .options(
            joinedload(Dispute.asked_by),
            joinedload(Dispute.answered_by),
            joinedload(Dispute.submission).joinedload(Submission.team),
        )
    )


def _open(competition: Competition) -> Select[Dispute]:
    return select(Dispute).where(Dispute.competition_id == competition.id, Dispute.answered_at.is_(None))


def _problem(text: str, word: str) -> str:
    if not text:
        return f"Write the {word} first."
    if len(text) > TEXT_MAX_LENGTH:
        return f"The {word} has {len(text):,} characters. Shorten it to at most {TEXT_MAX_LENGTH:,}."
    return ""


def _tell_organizers(
    session: Session, competition: Competition, dispute: Dispute, team: Team, now: datetime
) -> None:
    letters.send(
        session,
        "question",
        organizers.to_notify(session, competition=competition),
        kind=Notice.ORGANIZER,
        key=f"dispute-asked:{dispute.id}",
        competition=competition,
        team=team,
        dispute=dispute,
        now=now,
    )


def _tell_team(session: Session, competition: Competition, dispute: Dispute, now: datetime) -> None:
    members = session.scalars(
        select(User)
        .join(TeamMember, TeamMember.user_id == User.id)
        .join(Submission, Submission.team_id == TeamMember.team_id)
        .where(Submission.id == dispute.submission_id)
    )
    letters.send(
        session,
        "answer",
        members,
        kind=Notice.ORGANIZER,
        key=f"dispute-answered:{dispute.id}:{now.timestamp():.6f}",
        competition=competition,
        dispute=dispute,
        now=now,
    )
