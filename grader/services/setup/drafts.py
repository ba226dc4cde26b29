"""Create a draft competition: who may create one, its title and address (slug)."""

import re
import unicodedata
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from grader.errors import OrganizerError
from grader.models import (
    Competition,
    CompetitionState,
    Organizer,
    Role,
    User,
)
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, organizers, settings_problems
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.competitions.settings_problems import Fault, InvalidCompetition, sentences


class NotDraft(OrganizerError):
    """Only a draft can be treated like this."""

    public_name = "not_draft"
    message = "{competition.slug} is published: to change its solution or metric, start a rescoring."


def may_create(session: Session, *, user: User) -> bool:
    """Return whether a person may create competitions: administrators and owners of a competition may."""
    owned = select(Organizer.id).where(Organizer.user_id == user.id, Organizer.role == Role.OWNER)
    return user.is_admin or session.scalar(owned.limit(1)) is not None


def proposed_slug(session: Session, *, title: str) -> str:
    """Return a free slug made from a title; raise InvalidCompetition if no letter or digit fits."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:36].strip("-")
    if title and not slug:
        raise InvalidCompetition(["Enter an address: the title has no letter a to z and no digit."])
    numbered = (slug, *(f"{slug}-{number}" for number in range(2, 100)))
    return next((each for each in numbered if not lookup.slug_problems(session, each)), slug)


def create(
    session: Session,
    *,
    slug: str,
    settings: CompetitionSettings,
    owner: User | None = None,
    actor: Actor,
    now: datetime,
) -> Competition:
    """Make a draft, owned by `owner`, else by the actor; raise InvalidCompetition with all problems."""
    draft = Competition(
        slug=slug, title=settings.title, state=CompetitionState.DRAFT, created_at=now, draft_metric=None
    )
    found = problems(session, slug=slug, settings=settings)
    if found:
        raise InvalidCompetition(sentences(found))
    competition_settings.apply(competition_settings.cleaned(settings), draft)
    try:
        with session.begin_nested():
            session.add(draft)
    except IntegrityError:
        raise InvalidCompetition([lookup.slug_is_taken(slug)]) from None
    organizers.make_owner(session, competition=draft, actor=actor, now=now)
    if owner is not None and owner is not actor.user:
        organizers.add(session, competition=draft, user=owner, role=Role.OWNER, actor=actor, now=now)
    Act(session, draft, actor, now).record("competition.create", f"competition {slug}", after={"slug": slug})
    return draft


def problems(session: Session, *, slug: str, settings: CompetitionSettings) -> list[Fault]:
    """Return everything that keeps a draft from being made like this."""
    found = [Fault(sentence, ("slug",)) for sentence in lookup.slug_problems(session, slug)]
    return found + settings_problems.problems(competition_settings.cleaned(settings), is_draft=True)


def lock(session: Session, competition: Competition) -> Competition:
    """Lock a draft and return it as it is now; raise NotDraft."""
    draft = lookup.lock(session, competition_id=competition.id)
    if draft.state is not CompetitionState.DRAFT:
        raise NotDraft(competition=draft)
    return draft
