"""Clone a competition: copy its texts, settings and data files, without dates, into a new draft."""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from grader.models import Competition, DataFile, User
from grader.services.audit.log import Actor
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import DATES
from grader.services.data_files import checks, files
from grader.services.figures import figures
from grader.services.setup import drafts


def clone(
    session: Session,
    *,
    source: Competition,
    slug: str,
    title: str = "",
    with_data: bool = True,
    owner: User | None = None,
    actor: Actor,
    now: datetime,
) -> Competition:
    """Make a draft with the texts, limits, metric and feedback of another competition, but without dates.

    The figures of its texts come along, its data files where asked for; people, teams and submissions do
    not, and the solution only by `versions.copy_solution`. Raises InvalidCompetition.
    """
    undated: dict[str, Any] = dict.fromkeys(DATES)
    settings = competition_settings.of(source).changed(title=title or source.title, **undated)
    draft = drafts.create(session, slug=slug, settings=settings, owner=owner, actor=actor, now=now)
    figures.copy_all(session, source=source, draft=draft, now=now)
    if with_data:
        for file in files.list_all(session, competition=source):
            copy = DataFile(
                competition_id=draft.id,
                name=file.name,
                description=file.description,
                sha256=file.sha256,
                size_bytes=file.size_bytes,
                uploaded_at=now,
            )
            checks.begin(copy)
            session.add(copy)
        session.flush()
    Act(session, draft, actor, now).record(
        "competition.clone",
        f"competition {draft.slug}",
        after={"source": source.slug, "with_data": with_data},
    )
    return draft
