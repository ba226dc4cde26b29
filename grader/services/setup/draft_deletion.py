"""Delete a draft competition with its files; its audit entries stay.

The competition's row stays behind, empty and without an address: the append-only audit names it, and no later
competition may come by its number.
"""

from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from grader.db import Base
from grader.errors import OrganizerError
from grader.models import (
    AnnouncedUpload,
    Announcement,
    ApiToken,
    Competition,
    DataFile,
    FairPlayMark,
    Figure,
    Notification,
    Organizer,
    OrganizerJob,
    Participation,
    ScoringVersion,
    Solution,
    Submission,
    SubmissionGrant,
    Webhook,
)
from grader.models.competitions import DELETED
from grader.services.audit.log import Actor
from grader.services.competitions import settings
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.setup import drafts
from grader.services.webhooks import outbox as webhooks

# In an order in which no row is deleted before those that name it.
STORED: tuple[type[Base], ...] = (
    AnnouncedUpload,
    ApiToken,
    OrganizerJob,
    DataFile,
    Figure,
    FairPlayMark,
    Announcement,
    Notification,
    SubmissionGrant,
    Participation,
    Organizer,
    ScoringVersion,
    Solution,
)


class HasSubmissions(OrganizerError):
    """A draft with files in it stays: what somebody sent is never deleted."""

    public_name = "has_submissions"

    def __init__(self, count: int) -> None:
        files = "1 submission" if count == 1 else f"{count:,} submissions"
        super().__init__(
            f"The draft has {files} (organizers' tests and benchmarks count too), and submissions are never "
            "deleted. You can leave it as it is; only its organizers see it."
        )


def count_submissions(session: Session, *, competition: Competition) -> int:
    """Return how many files there are that keep a draft from being deleted."""
    query = select(func.count()).select_from(Submission).where(Submission.competition_id == competition.id)
    return session.scalar(query) or 0


def delete_draft(session: Session, *, competition: Competition, actor: Actor, now: datetime) -> None:
    """Delete a draft with all that is stored for it; raise NotDraft, HasSubmissions.

    The bytes of its files are deleted with the next collection of orphans. A check under way ends unrecorded.
    """
    draft = drafts.lock(session, competition)
    count = count_submissions(session, competition=draft)
    if count:
        raise HasSubmissions(count)
    slug, title = draft.slug, draft.title
    draft.live_scoring_version = None
    session.flush()
    webhooks.remove(session, Webhook.competition_id == draft.id)
    for model in STORED:
        session.execute(
            delete(model)
            .where(model.__table__.c.competition_id == draft.id)
            .execution_options(synchronize_session=False)
        )
    settings.apply(CompetitionSettings(), draft)
    draft.slug, draft.draft_metric = f"{DELETED}{draft.id}", None
    session.flush()
    Act(session, draft, actor, now).record(
        "competition.delete",
        f"competition {slug}",
        before={"slug": slug, "title": title},
    )
