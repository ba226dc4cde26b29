"""Cloning: a new draft with what an earlier competition has, for the next edition of it."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from grader.models import Competition, DataFile, User
from grader.services import audit, competition_settings, data_checks, data_files, drafts
from grader.services.audit import Actor
from grader.services.competition_settings import DATES
from grader.services.rules import Rules
from grader.services.solutions import StoredSolution


def clone(
    session: Session,
    *,
    source: Competition,
    slug: str,
    title: str = "",
    with_data: bool = True,
    with_solution: bool = False,
    owner: User | None = None,
    actor: Actor,
    now: datetime,
) -> Competition:
    """Make a draft with the texts, limits, metric and feedback of another competition, but without dates.

    Its data files and its live solution come along where asked for; people, teams and
    submissions do not. Raises InvalidCompetition.
    """
    undated: dict[str, Any] = dict.fromkeys(DATES)
    settings = replace(competition_settings.of(source), title=title or source.title, **undated)
    draft = drafts.create(session, slug=slug, settings=settings, owner=owner, actor=actor, now=now)
    if with_data:
        for file in data_files.list_all(session, competition=source):
            copy = DataFile(
                competition_id=draft.id,
                name=file.name,
                description=file.description,
                sha256=file.sha256,
                size_bytes=file.size_bytes,
                uploaded_at=now,
            )
            data_checks.begin(copy)
            session.add(copy)
        session.flush()
    solution = _live_solution(source)
    if with_solution and solution is not None:
        drafts.set_solution(session, competition=draft, solution=solution, actor=actor, now=now)
    session.flush()
    audit.record(
        session,
        competition=draft,
        actor=actor,
        action="competition.clone",
        subject=f"competition {draft.slug}",
        after={"source": source.slug, "with_data": with_data, "with_solution": with_solution},
        now=now,
    )
    return draft


def _live_solution(source: Competition) -> StoredSolution | None:
    """Return the live solution of a competition as it would come from its file; the blobs are shared."""
    version = source.live_scoring_version
    if version is None:
        return None
    solution = version.solution
    return StoredSolution(
        row_ids_sha256=solution.row_ids_sha256,
        prepared_sha256=solution.prepared_sha256,
        sample_submission_sha256=solution.sample_submission_sha256,
        row_count=solution.row_count,
        public_row_count=solution.public_row_count,
        private_row_count=solution.private_row_count,
        rules=Rules.from_dict(version.metric_settings),
        metric_code_version=version.metric_code_version,
        report=solution.report,
        digest=solution.digest,  # without its commitment: equal ones would tell that the labels are too
    )
