"""Submission search for organizers: filter, search, sort, identical files of different teams.

Pages load quickly even with 130,000 submissions. Filters use indexed columns. Matching teams and people are
found first, and their submissions are then selected by id. Additional columns are read only for the rows of
the page.
"""

import enum
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, UnaryExpression, and_, func, or_, select
from sqlalchemy.orm import Session, joinedload

from grader.models import (
    Competition,
    Score,
    Split,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    Team,
    User,
)
from grader.services.site.paging import FIRST, Part, Slice, slice_of_query


class SubmissionSort(enum.StrEnum):
    """The sortable columns of the list."""

    ID = "id"
    SCORE = "score"
    PRIVATE_SCORE = "private_score"


@dataclass(frozen=True, slots=True)
class SubmissionFilter:
    """The requested submissions: filters and order.

    `text` is part of a description or of the name of a team, person or file. It can also be a submission's id
    or a file's hash. `is_shared` restricts the list to files that several teams submitted, and puts identical
    files together.
    """

    status: SubmissionStatus | None = None
    kind: SubmissionKind | None = None
    team_id: int | None = None
    text: str = ""
    is_shared: bool = False
    sort: SubmissionSort = SubmissionSort.ID
    descending: bool = True


@dataclass(frozen=True, slots=True)
class SubmissionMatch:
    """A submission with its displayed scores under the live version."""

    submission: Submission
    scores: Mapping[Split, str]


def find(
    session: Session, *, competition: Competition, wanted: SubmissionFilter, part: Part = FIRST
) -> Slice[SubmissionMatch]:
    """Return a slice of the requested submissions; in an order other than newest first, keys are offsets."""
    query = select(Submission.id).where(*_conditions(competition, wanted))
    if wanted.sort is SubmissionSort.ID and wanted.descending and not wanted.is_shared:
        ids = slice_of_query(session, query, key=Submission.__table__.c.id, part=part)
    else:
        start = part.after or 0
        query = _sorted(query, competition, wanted).limit(part.size + 1).offset(start)
        rows = session.scalars(query).all()
        ids = Slice(tuple(rows[: part.size]), start + part.size if len(rows) > part.size else None, part.size)
    return ids.with_rows(_matches(session, competition, list(ids.rows)))


def _conditions(competition: Competition, wanted: SubmissionFilter) -> list[ColumnElement[bool]]:
    exact = {
        Submission.status: wanted.status,
        Submission.kind: wanted.kind,
        Submission.team_id: wanted.team_id,
    }
    conditions: list[ColumnElement[bool]] = [Submission.competition_id == competition.id]
    conditions += [column == value for column, value in exact.items() if value is not None]
    if wanted.text.strip():
        conditions.append(_holds(competition, wanted.text.strip()))
    if wanted.is_shared:
        conditions.append(Submission.sha256.in_(_shared(competition)))
    return conditions


def _holds(competition: Competition, text: str) -> ColumnElement[bool]:
    number = text.removeprefix("#")
    if number.isascii() and number.isdigit() and len(number) < 10:
        return or_(Submission.id == int(number), Submission.file_name.contains(number, autoescape=True))
    if len(text) == 64 and text.isascii() and text.isalnum():
        return Submission.sha256 == text.lower()
    mine, has_name = Team.competition_id == competition.id, Team.name.icontains(text, autoescape=True)
    return or_(
        Submission.team_id.in_(select(Team.id).where(mine, has_name)),
        Submission.user_id.in_(select(User.id).where(User.name.icontains(text, autoescape=True))),
        Submission.file_name.icontains(text, autoescape=True),
        Submission.description.icontains(text, autoescape=True),
    )


def _sorted(query: Select[int], competition: Competition, wanted: SubmissionFilter) -> Select[int]:
    keys: list[UnaryExpression[Any]] = [Submission.id.desc() if wanted.descending else Submission.id.asc()]
    if wanted.sort is not SubmissionSort.ID:
        is_its = and_(
            Score.submission_id == Submission.id,
            Score.scoring_version_id == competition.live_scoring_version_id,
            Score.split == (Split.PUBLIC if wanted.sort is SubmissionSort.SCORE else Split.PRIVATE),
        )
        query = query.outerjoin(Score, is_its)
        keys.insert(0, (Score.score.desc() if wanted.descending else Score.score.asc()).nulls_last())
    return query.order_by(*([Submission.sha256] if wanted.is_shared else []), *keys)


def _matches(session: Session, competition: Competition, ids: list[int]) -> tuple[SubmissionMatch, ...]:
    lines = {
        each.id: each
        for each in session.scalars(
            select(Submission)
            .where(Submission.id.in_(ids))
            .options(joinedload(Submission.team), joinedload(Submission.user))
        )
    }
    version_id, scale = competition.live_scoring_version_id, competition.scale
    scores = defaultdict[int, dict[Split, str]](dict)
    for submission_id, split, score in session.execute(
        select(Score.submission_id, Score.split, Score.score).where(
            Score.submission_id.in_(ids), Score.scoring_version_id == version_id
        )
    ):
        scores[submission_id][split] = scale.text(scale.units(score))
    return tuple(SubmissionMatch(lines[each], scores[each]) for each in ids)


def _shared(competition: Competition) -> Select[str]:
    """Return the query for the hashes of files that several teams submitted."""
    return (
        select(Submission.sha256)
        .join(Team, Team.id == Submission.team_id)
        .where(Submission.competition_id == competition.id, Team.is_organizers.is_(False))
        .group_by(Submission.sha256)
        .having(func.count(Submission.team_id.distinct()) > 1)
    )
