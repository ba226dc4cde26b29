"""Creation, copying and deletion of draft competitions.

The row of a deleted draft is kept without its content and slug, because the append-only audit log refers to
it and its id must not be reused.
"""

import re
import unicodedata
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerRefusal
from grader.models import (
    Competition,
    CompetitionState,
    DataFile,
    Organizer,
    Role,
    Score,
    ScoringJob,
    Standing,
    Submission,
    SubmissionStatus,
    Team,
    User,
)
from grader.models.base import Base
from grader.models.competitions import DELETED
from grader.services.competitions import figures, lookup, organizers, settings_problems
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import DATES, CompetitionSettings
from grader.services.competitions.settings_problems import Fault, InvalidCompetition
from grader.services.site.log import Actor
from grader.services.solutions import data_checks as checks
from grader.services.solutions import data_files as files

# The rows of these tables stay when a draft is deleted, without their content.
KEPT = frozenset({"submission", "team", "audit_entry"})


def may_create(session: Session, *, user: User) -> bool:
    """Return whether a user may create competitions, as administrators and owners of a competition may."""
    owned = select(Organizer.id).where(Organizer.user_id == user.id, Organizer.role == Role.OWNER)
    return user.is_admin or session.scalar(owned.limit(1)) is not None


def proposed_slug(session: Session, *, title: str) -> str:
    """Return a free slug for a title; raise InvalidCompetition if no character is usable."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:36].strip("-")
    if title and not slug:
        sentence = "The title contains neither a letter from a to z nor a digit. Enter an address."
        raise InvalidCompetition([Fault(sentence, ("slug",))])
    numbered = (slug, *(f"{slug}-{number}" for number in range(2, 100)))
    return next((each for each in numbered if not _slug_faults(session, each)), slug)


def create(
    session: Session,
    *,
    slug: str,
    settings: CompetitionSettings,
    owner: User | None = None,
    actor: Actor,
    now: datetime,
) -> Competition:
    """Create a draft owned by `owner` or, by default, by the actor; raise InvalidCompetition."""
    if faults := problems(session, slug=slug, settings=settings):
        raise InvalidCompetition(faults)
    settings = CompetitionSettings.model_validate(dict(settings))
    draft = Competition(
        slug=slug, title=settings.title, state=CompetitionState.DRAFT, created_at=now, draft_metric=None
    )
    competition_settings.apply(settings, draft)
    try:
        with session.begin_nested():
            session.add(draft)
    except IntegrityError:
        raise InvalidCompetition([_taken(slug)]) from None
    act = Act(session, draft, actor, now)
    if actor.user is not None:
        mine = Organizer(competition_id=draft.id, user_id=actor.user.id, role=Role.OWNER, added_at=now)
        session.add(mine)
        session.flush()
    if owner is not None and owner is not actor.user:
        organizers.add(act, user=owner, role=Role.OWNER)
    act.record("competition.create", f"competition {slug}", after={"slug": slug})
    return draft


def problems(session: Session, *, slug: str, settings: CompetitionSettings) -> list[Fault]:
    """Return all problems that prevent the creation of a draft with this slug and settings."""
    return _slug_faults(session, slug) + settings_problems.problems(settings, is_draft=True)


def _slug_faults(session: Session, slug: str) -> list[Fault]:
    if sentence := lookup.slug_fault(slug):
        return [Fault(sentence, ("slug",))]
    is_taken = session.scalar(select(Competition.id).where(Competition.slug == slug)) is not None
    return [_taken(slug)] if is_taken else []


def _taken(slug: str) -> Fault:
    return Fault(f"Another competition already uses the slug {slug!r}.", ("slug",))


def lock(session: Session, competition: Competition) -> Competition:
    """Lock a draft and return its current row; raise OrganizerRefusal."""
    draft = lookup.lock(session, competition_id=competition.id)
    if draft.state is not CompetitionState.DRAFT:
        message = f"{draft.slug} is already published. To change its solution or metric, start a rescoring."
        raise OrganizerRefusal("not_draft", ErrorKind.CONFLICT, message)
    return draft


def clone(
    act: Act,
    *,
    slug: str,
    title: str = "",
    stage_name: str = "",
    with_data: bool = True,
    owner: User | None = None,
) -> Competition:
    """Create a draft with the settings of the act's competition, but without its dates.

    The figures are copied and, if `with_data` is true, also the data files. Users, teams and submissions are
    not copied; `versions.copy_solution` copies the solution. Raise InvalidCompetition.
    """
    session, source, now = act.session, act.competition, act.now
    undated: dict[str, Any] = dict.fromkeys(DATES)
    settings = competition_settings.of(source).changed(
        title=title or source.title, stage_name=stage_name, **undated
    )
    draft = create(session, slug=slug, settings=settings, owner=owner, actor=act.actor, now=now)
    figures.copy_all(session, source=source, draft=draft, now=now)
    for file in files.list_all(session, competition=source) if with_data else ():
        copied = {name: getattr(file, name) for name in ("name", "description", "sha256", "size_bytes")}
        copy = DataFile(competition_id=draft.id, uploaded_at=now, **copied)
        checks.begin(copy)
        session.add(copy)
    after = {"source": source.slug, "with_data": with_data}
    replace(act, competition=draft).record("competition.clone", f"competition {draft.slug}", after=after)
    return draft


def next_stage(act: Act, *, slug: str = "", stage_name: str = "", with_data: bool = True) -> Competition:
    """Create the draft of a competition's next stage, as a copy with the same organizers.

    Raise InvalidCompetition.
    """
    session, source = act.session, act.competition
    if source.state is CompetitionState.DRAFT:
        raise InvalidCompetition([Fault("Publish this competition before you create its next stage.")])
    if session.scalar(select(Competition.id).where(Competition.previous_stage_id == source.id)) is not None:
        raise InvalidCompetition([Fault("This competition already has a next stage.")])
    number = len(lookup.stages(session, competition=source)) + 1
    slug = slug or proposed_slug(session, title=f"{source.slug[:30]}-stage-{number}")
    draft = clone(act, slug=slug, stage_name=stage_name or f"Stage {number}", with_data=with_data)
    draft.previous_stage_id = source.id
    for each in organizers.list_all(session, competition=source):
        if act.actor.user is None or each.user_id != act.actor.user.id:
            organizers.add(replace(act, competition=draft), user=each.user, role=each.role)
    session.flush()
    return draft


def count_submissions(session: Session, *, competition: Competition) -> int:
    """Return the number of the draft's submissions, which organizers sent as tests or benchmarks."""
    query = select(func.count()).select_from(Submission).where(Submission.competition_id == competition.id)
    return session.scalar(query) or 0


def delete_draft(act: Act) -> None:
    """Delete a draft with all its data; raise OrganizerRefusal.

    Its blobs are deleted later, with other orphaned blobs. A check in progress ends without a result. Empty
    rows of its test and benchmark submissions are kept, so that their ids are never reused.
    """
    session, draft = act.session, lock(act.session, act.competition)
    slug, title = draft.slug, draft.title
    draft.live_scoring_version = None
    session.flush()
    _empty_submissions(session, draft, act.now)
    for table in reversed(Base.metadata.sorted_tables):  # rows before the rows to which they refer
        if "competition_id" in table.c and table.name not in KEPT:
            session.execute(table.delete().where(table.c.competition_id == draft.id))
    session.expire_all()
    of_sections = Team.competition_id == draft.id, ~Team.is_organizers
    session.execute(delete(Team).where(*of_sections).execution_options(synchronize_session=False))
    competition_settings.apply(CompetitionSettings(), draft)
    draft.section_use = None
    draft.slug, draft.draft_metric, draft.previous_stage_id = f"{DELETED}{draft.id}", None, None
    act.record(
        "competition.delete",
        f"competition {slug}",
        before={"slug": slug, "title": title},
    )


def _empty_submissions(session: Session, draft: Competition, now: datetime) -> None:
    """Delete the results of the draft's submissions, their files and their descriptions."""
    own = select(Submission.id).where(Submission.competition_id == draft.id)
    for results in (Score, ScoringJob, Standing):
        session.execute(delete(results).where(results.submission_id.in_(own)))
    emptied = {"file_name": "", "description": "", "problems": [], "notes": [], "file_deleted_at": now}
    session.execute(
        update(Submission)
        .where(Submission.competition_id == draft.id)
        .values(status=SubmissionStatus.REJECTED, **emptied)
    )
