"""Submission search for organizers: filter, search, sort, identical files.

Pages load quickly even with 130,000 submissions. Filters use indexed columns. Matching teams and people are
found first, and their submissions are then selected by id. Additional columns are read only for the rows of
the page.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, SQLColumnExpression, and_, func, or_, select
from sqlalchemy.orm import Session, joinedload

from grader.models import (
    Competition,
    Score,
    ScoringJob,
    Split,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    Team,
    User,
)
from grader.services.site.paging import FIRST, Part, Slice, slice_of_query
from grader.text import folded

MAX_FOUND_NAMES = 500
MAX_GROUPS = 100
MAX_SENDERS = 50


class SubmissionSort(enum.StrEnum):
    """The sortable columns of the list."""

    ID = "id"
    SUBMITTED_AT = "submitted_at"
    TEAM = "team"
    STATUS = "status"
    SIZE = "size"
    SCORE = "score"
    PRIVATE_SCORE = "private_score"


@dataclass(frozen=True, slots=True)
class SubmissionFilter:
    """The requested submissions: filters and order.

    `text` is part of a description or of the name of a team, person or file. It can also be a submission's id
    or a file's hash.
    """

    status: SubmissionStatus | None = None
    kind: SubmissionKind | None = None
    team_id: int | None = None
    text: str = ""
    sort: SubmissionSort = SubmissionSort.ID
    descending: bool = True


@dataclass(frozen=True, slots=True)
class SubmissionMatch:
    """A submission with its scoring attempts and its displayed scores under the live version."""

    submission: Submission
    scores: Mapping[Split, str]
    attempt_count: int


def find(
    session: Session, *, competition: Competition, wanted: SubmissionFilter, part: Part = FIRST
) -> Slice[SubmissionMatch]:
    """Return a slice of the requested submissions; in an order other than newest first, keys are offsets."""
    query = select(Submission.id).where(*_conditions(session, competition, wanted))
    if wanted.sort is SubmissionSort.ID and wanted.descending:
        found = slice_of_query(session, query, key=Submission.__table__.c.id, part=part)
    else:
        start = part.after or 0
        query = _sorted(query, competition, wanted).limit(part.size + 1).offset(start)
        ids = session.scalars(query).all()
        found = Slice(tuple(ids[: part.size]), start + part.size if len(ids) > part.size else None, part.size)
    return found.with_rows(_lines(session, competition, list(found.rows)))


def _conditions(
    session: Session, competition: Competition, wanted: SubmissionFilter
) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [Submission.competition_id == competition.id]
    if wanted.status is not None:
        conditions.append(Submission.status == wanted.status)
    if wanted.kind is not None:
        conditions.append(Submission.kind == wanted.kind)
    if wanted.team_id is not None:
        conditions.append(Submission.team_id == wanted.team_id)
    if wanted.text.strip():
        conditions.append(_holds(session, competition, wanted.text.strip()))
    return conditions


def _holds(session: Session, competition: Competition, text: str) -> ColumnElement[bool]:
    number = text.removeprefix("#")
    if number.isascii() and number.isdigit() and len(number) < 10:
        return or_(Submission.id == int(number), Submission.file_name.contains(number, autoescape=True))
    if len(text) == 64 and text.isascii() and text.isalnum():
        return Submission.sha256 == text.lower()
    teams = _named(session, select(Team.id, Team.name).where(Team.competition_id == competition.id), text)
    people = _named(
        session, select(User.id, User.name).join(Team, Team.leader_id == User.id).distinct(), text
    )
    return or_(
        Submission.team_id.in_(teams),
        Submission.user_id.in_(people),
        Submission.file_name.icontains(text, autoescape=True),
        Submission.description.icontains(text, autoescape=True),
    )


def _named(session: Session, query: Select[int, str], text: str) -> list[int]:
    """Return the ids of rows whose name contains a text, ignoring case.

    Python compares the names because SQLite ignores case only for ASCII characters.
    """
    wanted = folded(text)
    matching = (row_id for row_id, name in session.execute(query) if wanted in folded(name))
    return [row_id for row_id, _ in zip(matching, range(MAX_FOUND_NAMES), strict=False)]


def _sorted(query: Select[int], competition: Competition, wanted: SubmissionFilter) -> Select[int]:
    key: SQLColumnExpression[Any]
    match wanted.sort:
        case SubmissionSort.TEAM:
            query = query.join(Team, Team.id == Submission.team_id)
            key = func.lower(Team.name)
        case SubmissionSort.SCORE | SubmissionSort.PRIVATE_SCORE:
            split = Split.PUBLIC if wanted.sort is SubmissionSort.SCORE else Split.PRIVATE
            query = query.outerjoin(
                Score,
                and_(
                    Score.submission_id == Submission.id,
                    Score.scoring_version_id == competition.live_scoring_version_id,
                    Score.split == split,
                ),
            )
            key = Score.score
        case SubmissionSort.STATUS:
            key = Submission.status
        case SubmissionSort.SIZE:
            key = Submission.size_bytes
        case SubmissionSort.SUBMITTED_AT:
            key = Submission.submitted_at
        case _:
            return query.order_by(Submission.id.desc() if wanted.descending else Submission.id)
    first = (key.desc() if wanted.descending else key.asc()).nulls_last()
    return query.order_by(first, Submission.id.desc() if wanted.descending else Submission.id)


def _lines(session: Session, competition: Competition, ids: list[int]) -> tuple[SubmissionMatch, ...]:
    lines = {
        each.id: each
        for each in session.scalars(
            select(Submission)
            .where(Submission.id.in_(ids))
            .options(joinedload(Submission.team), joinedload(Submission.user))
        )
    }
    version_id, scale = competition.live_scoring_version_id, competition.scale
    scores: dict[int, dict[Split, str]] = {submission_id: {} for submission_id in ids}
    for submission_id, split, score in session.execute(
        select(Score.submission_id, Score.split, Score.score).where(
            Score.submission_id.in_(ids), Score.scoring_version_id == version_id
        )
    ):
        scores[submission_id][split] = scale.text(scale.units(score))
    attempts = dict(
        session.execute(
            select(ScoringJob.submission_id, ScoringJob.attempt_count).where(
                ScoringJob.submission_id.in_(ids), ScoringJob.scoring_version_id == version_id
            )
        ).all()
    )
    return tuple(SubmissionMatch(lines[each], scores[each], attempts.get(each, 0)) for each in ids)


@dataclass(frozen=True, slots=True)
class Sender:
    """A team that submitted the same bytes, with its first such submission."""

    team: Team
    submission_id: int
    submitted_at: datetime
    count: int


@dataclass(frozen=True, slots=True)
class EqualFiles:
    """A file that several teams submitted; `is_sample` marks the sample submission."""

    sha256: str
    size_bytes: int
    team_count: int
    senders: tuple[Sender, ...]
    is_sample: bool


def equal_files(session: Session, *, competition: Competition) -> list[EqualFiles]:
    """Return the files that several teams submitted, by descending number of teams."""
    rows = session.execute(
        select(
            Submission.sha256,
            func.max(Submission.size_bytes),
            func.count(Submission.team_id.distinct()).label("team_count"),
        )
        .join(Team, Team.id == Submission.team_id)
        .where(Submission.competition_id == competition.id, Team.is_organizers.is_(False))
        .group_by(Submission.sha256)
        .having(func.count(Submission.team_id.distinct()) > 1)
        .order_by(func.count(Submission.team_id.distinct()).desc(), func.min(Submission.id))
        .limit(MAX_GROUPS)
    ).all()
    version = competition.live_scoring_version
    sample = version.solution.sample_submission_sha256 if version else None
    return [
        EqualFiles(sha256, size_bytes, team_count, _senders(session, competition, sha256), sha256 == sample)
        for sha256, size_bytes, team_count in rows
    ]


def _senders(session: Session, competition: Competition, sha256: str) -> tuple[Sender, ...]:
    first = (
        select(
            Submission.team_id,
            func.min(Submission.id).label("submission_id"),
            func.min(Submission.submitted_at).label("submitted_at"),
            func.count().label("count"),
        )
        .where(Submission.competition_id == competition.id, Submission.sha256 == sha256)
        .group_by(Submission.team_id)
        .subquery()
    )
    rows = session.execute(
        select(Team, first.c.submission_id, first.c.submitted_at, first.c.count)
        .join(first, first.c.team_id == Team.id)
        .where(Team.is_organizers.is_(False))
        .order_by(first.c.submitted_at, first.c.submission_id)
        .limit(MAX_SENDERS)
    )
    return tuple(Sender(*row) for row in rows)
