"""Organizers' exports: submissions, standings, scores, grades and the audit log as CSV, and a ZIP of results.

Rows are read in chunks. Values are exact; `score_shown` is the displayed score.
"""

import enum
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from io import RawIOBase
from itertools import islice
from operator import attrgetter
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from fairboard.interface import Recounted
from grader.errors import ErrorKind, OrganizerRefusal
from grader.models import (
    STANDING_ORDER,
    AuditEntry,
    Competition,
    RosterEntry,
    Score,
    ScoringVersion,
    Split,
    Standing,
    Submission,
    Team,
    TeamMember,
    on_board,
)
from grader.services.competitions import lookup
from grader.services.competitions.metric import Rules
from grader.services.identity import class_rosters
from grader.services.leaderboards.ranks import Standings
from grader.services.site import log
from grader.storage.stores import Storage
from grader.text import csv_lines, iso

Row = Mapping[str, Any]
Table = tuple[Sequence[str], Iterator[Row]]
"""The columns of a table, and its rows, whose other values are not exported."""
CHUNK = 500
DAY = timedelta(days=1)
COUNTS = ("size", "positives")
ERROR = "{} standard error"
GROUP_VALUES = ("rows", "score")


class TableKind(enum.StrEnum):
    """Exported tables."""

    SUBMISSIONS = "submissions"
    STANDINGS = "standings"
    SCORES = "scores"
    AUDIT = "audit"
    GRADES = "grades"


def write(
    session: Session, *, competition: Competition, kind: TableKind, version_number: int | None = None
) -> Iterator[str]:
    """Yield an export as CSV in pieces, by default for the live version; see `version_of`."""
    version = version_of(session, competition, kind, version_number)
    columns, rows = _TABLES[kind](session, competition, version)
    yield csv_lines([columns])
    while chunk := list(islice(rows, CHUNK)):
        yield csv_lines([[_cell(row.get(column)) for column in columns] for row in chunk])


def _cell(value: Any) -> Any:
    """Return a cell's value; booleans, objects and mixed lists are written as JSON."""
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "; ".join(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def version_of(
    session: Session, competition: Competition, kind: TableKind, number: int | None
) -> ScoringVersion | None:
    """Return the scoring version of an export, if any; raise OrganizerRefusal if the export needs one."""
    version = competition.live_scoring_version
    if number is not None:
        version = session.scalar(
            select(ScoringVersion).where(
                ScoringVersion.competition_id == competition.id, ScoringVersion.number == number
            )
        )
    if version is None and kind not in (TableKind.SUBMISSIONS, TableKind.AUDIT):
        which = "scoring version yet" if number is None else f"scoring version {number}"
        raise OrganizerRefusal("nothing_to_export", ErrorKind.NOT_FOUND, f"This competition has no {which}.")
    return version


_SUBMISSION: Mapping[str, Callable[[Submission], Any]] = {
    "submission": attrgetter("id"),
    "team_id": attrgetter("team_id"),
    "team": attrgetter("team.name"),
    "user": attrgetter("user.name"),
    "kind": attrgetter("kind.value"),
    "status": attrgetter("status.value"),
    "submitted_at": lambda each: iso(each.submitted_at),
    "finished_at": lambda each: iso(each.finished_at),
    "is_selected": attrgetter("is_selected"),
    "file_name": attrgetter("file_name"),
    "description": attrgetter("description"),
    "size_bytes": attrgetter("size_bytes"),
    "sha256": attrgetter("sha256"),
    "slot_day": lambda each: each.slot_day and each.slot_day.isoformat(),
    "problems": lambda each: [problem.get("message", "") for problem in each.problems],
    "incident": attrgetter("incident"),
}


def _submissions(session: Session, competition: Competition, version: ScoringVersion | None) -> Table:
    query = (
        select(Submission)
        .where(Submission.competition_id == competition.id)
        .options(joinedload(Submission.team), joinedload(Submission.user))
    )

    def rows() -> Iterator[Row]:
        for chunk in _chunks(session, query, Submission):
            scores = _scores(session, [each.id for each in chunk], version)
            for each in chunk:
                yield {name: value(each) for name, value in _SUBMISSION.items()} | {
                    f"{split}_score": scores.get((each.id, split)) for split in Split
                }

    return (*_SUBMISSION, *(f"{split}_score" for split in Split)), rows()


def _scores(
    session: Session, submission_ids: Sequence[int], version: ScoringVersion | None
) -> dict[tuple[int, Split], float]:
    if version is None:
        return {}
    rows = session.execute(
        select(Score.submission_id, Score.split, Score.score).where(
            Score.submission_id.in_(submission_ids), Score.scoring_version_id == version.id
        )
    )
    return {(submission_id, split): score for submission_id, split, score in rows}


def _standings(session: Session, competition: Competition, version: ScoringVersion) -> Table:
    terms = Rules.of(version).term_names
    alias = ("alias",) if competition.is_anonymous else ()
    columns = (
        *("split", "rank", "team_id", "team", *alias, "division", "score_shown", "score", *terms),
        *("submission", "submitted_at"),
    )

    def rows() -> Iterator[Row]:
        for split in Split:
            lines = session.execute(
                select(Standing, Team, Score)
                .join(Team, Team.id == Standing.team_id)
                .join(
                    Score,
                    (Score.submission_id == Standing.submission_id)
                    & (Score.scoring_version_id == Standing.scoring_version_id)
                    & (Score.split == Standing.split),
                )
                .where(*on_board(version.id, split))
                .order_by(*STANDING_ORDER)
                .execution_options(yield_per=CHUNK)
            )
            for rank, (standing, team, score) in enumerate(lines, 1):
                yield {
                    **score.terms,
                    "split": split.value,
                    "rank": rank,
                    "team_id": standing.team_id,
                    "team": team.name,
                    "alias": team.alias,
                    "division": team.division,
                    "score_shown": version.scale.text(standing.score_units),
                    "score": score.score,
                    "submission": standing.submission_id,
                    "submitted_at": iso(standing.submitted_at),
                }

    return columns, rows()


def _all_scores(session: Session, competition: Competition, version: ScoringVersion) -> Table:
    rules, solution = Rules.of(version), version.solution
    row_counts = {Split.PUBLIC: solution.public_row_count, Split.PRIVATE: solution.private_row_count}
    cells = (*COUNTS, *(each.name for each in rules.about.cells))
    groups = (_group_columns(line["column"], line["value"]) for line in solution.report.get("groups", ()))
    columns = (
        *("submission", "team_id", "kind", "split", "score", *rules.term_names, "rows"),
        *(("positives",) if rules.about.cells else ()),
        *map(ERROR.format, ("score", *rules.term_names)),
        *(f"{name}: {cell}" for name in rules.identities for cell in cells),
        *(name for names in groups for name in names.values()),
    )

    def rows() -> Iterator[Row]:
        query = select(Submission).where(Submission.competition_id == competition.id)
        for chunk in _chunks(session, query, Submission):
            submissions = {each.id: each for each in chunk}
            scores = session.scalars(
                select(Score)
                .where(Score.submission_id.in_(submissions), Score.scoring_version_id == version.id)
                .order_by(Score.submission_id, Score.split.desc())
            )
            for score in scores:
                submission = submissions[score.submission_id]
                yield {
                    **score.terms,
                    "submission": submission.id,
                    "team_id": submission.team_id,
                    "kind": submission.kind.value,
                    "split": score.split.value,
                    "score": score.score,
                    "rows": row_counts[score.split],
                    **_details(score, rules),
                }

    return columns, rows()


def _details(score: Score, rules: Rules) -> Row:
    """Return the standard errors and the values of the groups of a score."""
    row: dict[str, Any] = {ERROR.format(name): error for name, error in (score.errors or {}).items()}
    for column, groups in score.groups.items():
        for value, values in groups.items():
            row |= {name: values[key] for key, name in _group_columns(column, value).items()}
    if isinstance(scorer := rules.scorer, Recounted):
        counts, lines = scorer.recount(score.evidence)
        row |= counts
        for line in lines:
            row |= {f"{line.name}: {name}": each for name, each in {**line.counts, **line.cells}.items()}
    return row


def _group_columns(column: str, value: str) -> dict[str, str]:
    return {key: f"{column} = {value}: {key}" for key in GROUP_VALUES}


def _audit(session: Session, competition: Competition, _version: ScoringVersion | None) -> Table:
    query = (
        select(AuditEntry)
        .where(AuditEntry.competition_id == competition.id)
        .options(joinedload(AuditEntry.actor))
    )
    stored = ("origin", "action", "before", "after", "reason", "is_public")

    def rows() -> Iterator[Row]:
        for chunk in _chunks(session, query, AuditEntry):
            names = log.names(session, chunk)
            for each in chunk:
                yield {
                    "entry": each.id,
                    "at": iso(each.at),
                    "actor": each.actor.name if each.actor else None,
                    "subject": log.with_names(each.subject, names),
                    "public_text": log.with_names(each.public_text, names),
                    **{name: getattr(each, name) for name in stored},
                }

    columns = ("entry", "at", "actor", *stored[:2], "subject", *stored[2:], "public_text")
    return columns, rows()


def _chunks(session: Session, query: Any, model: Any) -> Iterator[Sequence[Any]]:
    """Yield the rows of a query in chunks, ordered by id."""
    yield from session.scalars(query.order_by(model.id).execution_options(yield_per=CHUNK)).partitions()


_STUDENT = ("student_id", "name", "email", "section")
_RESULT = (
    "team_name", "split", "rank", "team_count", "score", "percentile", "submitted_at", "days_late",
    "disqualified",
)  # fmt: skip


def _grades(session: Session, competition: Competition, version: ScoringVersion) -> Table:
    """Return the grades of the students by section and name.

    They are those of the public leaderboard until the reveal, then of the private one. The percentile is the
    share of ranked teams at or below the team's rank.
    """
    split = Split.PUBLIC if competition.revealed_at is None else Split.PRIVATE
    board = select(Standing).where(*Standings(session, version.id, split).rows).order_by(*STANDING_ORDER)
    lines = session.scalars(board).all()
    ranked = {each.team_id: (rank, each) for rank, each in enumerate(lines, 1)}
    headings, cells = _roster_columns(session, competition)
    # The names of the results differ from those of the roster's columns.
    result = tuple(f"fairboard {name}" if name in headings else name for name in _RESULT)

    def rows() -> Iterator[Row]:
        for entry, team in students(session, competition):
            rank, counted = ranked.get(team.id if team else 0, (0, None))
            late = counted and competition.closes_at and counted.submitted_at - competition.closes_at
            values = (
                team and team.name,
                split.value,
                rank or None,
                len(lines),
                version.scale.text(counted.score_units) if counted else None,
                round(100 * (len(lines) - rank + 1) / len(lines), 1) if counted else None,
                iso(counted.submitted_at) if counted else None,
                max(0, math.ceil(late / DAY)) if late else None,
                team is not None and team.is_disqualified,
            )
            student = {name: getattr(entry, name) for name in _STUDENT}
            original = dict(zip(headings, cells.get(entry.id, ()), strict=False))
            yield student | original | dict(zip(result, values, strict=True))

    return (*(headings or _STUDENT), *result), rows()


def _roster_columns(
    session: Session, competition: Competition
) -> tuple[tuple[str, ...], Mapping[int, Sequence[str]]]:
    """Return the columns of the imported roster, if all students are in its file; spaces make them unique."""
    headings, cells = class_rosters.original_columns(session, competition=competition)
    query = select(func.count()).where(RosterEntry.competition_id == competition.id)
    if len(cells) < (session.scalar(query) or 0):
        return (), {}
    before = [headings[:place] for place in range(len(headings))]
    return tuple(each + " " * rest.count(each) for each, rest in zip(headings, before, strict=True)), cells


def students(session: Session, competition: Competition) -> Iterator[tuple[RosterEntry, Team | None]]:
    """Yield the students with their teams, by section and name."""
    of_student = (TeamMember.user_id == RosterEntry.user_id) & (TeamMember.competition_id == competition.id)
    query = (
        select(RosterEntry, Team)
        .outerjoin(TeamMember, of_student)
        .outerjoin(Team, Team.id == TeamMember.team_id)
        .where(RosterEntry.competition_id == competition.id)
        .order_by(RosterEntry.section, RosterEntry.name, RosterEntry.id)
    )
    yield from ((entry, team) for entry, team in session.execute(query))


_TABLES: Mapping[TableKind, Callable[..., Table]] = {
    TableKind.SUBMISSIONS: _submissions,
    TableKind.STANDINGS: _standings,
    TableKind.SCORES: _all_scores,
    TableKind.AUDIT: _audit,
    TableKind.GRADES: _grades,
}

README = """\
Results of {title}

Revealed on {revealed_at:%-d %b %Y, %H:%M} UTC. The scores are those of scoring version {scoring_version}.

standings.csv         the public and private leaderboards
scores.csv            the exact results of all submissions on both splits, also by identity or group
submissions.csv       all submissions with the sha256 of their files
{solution}
The metric is {metric}, code version {code_version}, with these settings:

{settings}

Commitment to the solution: {commitment}
"""
PUBLISHED = """\
solution.csv          the solution in its canonical form
solution-nonce.txt    the nonce: the commitment is the sha256 of it and the sha256 of solution.csv
"""
UNPUBLISHED = """
The solution is not published. The exact results can disclose labels, so do not distribute them.
"""


class _Buffer(RawIOBase):
    """A buffer for the bytes that a ZipFile has written since the last read."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, data: Any, /) -> int:
        self._written.append(bytes(data))
        return len(self._written[-1])

    def take(self) -> bytes:
        taken = b"".join(self._written)
        self._written.clear()
        return taken


def write_bundle(session: Session, *, competition: Competition, storage: Storage) -> Iterator[bytes]:
    """Yield the ZIP archive in pieces."""
    buffer = _Buffer()
    with ZipFile(buffer, "w") as archive:
        for name, pieces in _files(session, competition, storage):
            entry = ZipInfo(f"{competition.slug}/{name}")
            entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o644 << 16
            with archive.open(entry, "w") as file:
                for piece in pieces:
                    file.write(piece.encode() if isinstance(piece, str) else piece)
                    yield buffer.take()
    yield buffer.take()


def _files(
    session: Session, competition: Competition, storage: Storage
) -> Iterator[tuple[str, Iterable[str | bytes]]]:
    version = lookup.live(competition)
    solution, rules = version.solution, Rules.of(version)
    is_published = competition.solution_published_at is not None
    yield (
        "README.txt",
        [
            README.format(
                title=competition.title,
                revealed_at=competition.revealed_at,
                scoring_version=version.number,
                solution=PUBLISHED if is_published else UNPUBLISHED,
                metric=rules.about.title,
                code_version=version.metric_code_version,
                settings=json.dumps(rules.as_settings(), ensure_ascii=False, indent=2),
                commitment=solution.commitment,
            )
        ],
    )
    for kind in (TableKind.STANDINGS, TableKind.SCORES, TableKind.SUBMISSIONS):
        yield f"{kind}.csv", write(session, competition=competition, kind=kind)
    if is_published:
        yield "solution.csv", [storage.read(solution.digest)]
        yield "solution-nonce.txt", [solution.nonce]
