"""Table of competitions: one column for each setting, and the state (draft, published, archived)."""

import enum
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, ForeignKey, Integer, String, Text, true
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base, stored_enum
from grader.visibility import Feedback

if TYPE_CHECKING:
    from grader.models.scoring_version import ScoringVersion


DELETED = "deleted:"  # with the id, in place of a deleted draft's slug; nobody can ask for it


class CompetitionState(enum.StrEnum):
    """The stored states; scheduled, open and closed follow from the time."""

    DRAFT = "draft"
    PUBLISHED = "published"
    REVEALED = "revealed"
    ARCHIVED = "archived"


class EntryMode(enum.StrEnum):
    """Who may join: anybody, people with the entry code, or people that an organizer admits."""

    OPEN = "open"
    CODE = "code"
    APPROVAL = "approval"


class RevealRule(enum.StrEnum):
    """Whether the private leaderboard is revealed by itself at a date, or only by an organizer."""

    DATE = "date"
    ORGANIZER = "organizer"


class Competition(Base):
    """A competition; `live_scoring_version` is the one pointer that every board reads through.

    A limit of None is none. `reveals_at` is when the private leaderboard is revealed if no organizer did it
    before; `settled_at` is when the standings of the close were computed, for everything accepted in time had
    its result, and `finalized_at` when they became final.

    A draft may lack dates and a live scoring version; `draft_metric` is the metric that its solution will be
    checked with. While `paused_at` is set nothing is accepted and uploaders read `pause_message`. Selections
    freeze at the close, or at `selection_deadline` where an organizer reopened them.
    """

    __tablename__ = "competition"

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(String(40), unique=True)
    title: Mapped[str] = mapped_column(String(200))
    overview: Mapped[str] = mapped_column(Text, default="")
    evaluation: Mapped[str] = mapped_column(Text, default="", server_default="")
    data_description: Mapped[str] = mapped_column(Text, default="", server_default="")
    positive_name: Mapped[str] = mapped_column(String(64), default="positive", server_default="positive")
    negative_name: Mapped[str] = mapped_column(String(64), default="negative", server_default="negative")
    contact: Mapped[str] = mapped_column(String(500), default="", server_default="")
    discussion_url: Mapped[str] = mapped_column(String(500), default="", server_default="")
    feedback: Mapped[Feedback] = mapped_column(
        stored_enum(Feedback, name="feedback"), default=Feedback.OPEN, server_default="open"
    )
    draft_metric: Mapped[dict[str, Any] | None] = mapped_column(
        JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
    )
    state: Mapped[CompetitionState] = mapped_column(stored_enum(CompetitionState, name="state"))
    opens_at: Mapped[datetime | None]
    closes_at: Mapped[datetime | None]
    revealed_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    rules: Mapped[str] = mapped_column(Text, default="", server_default="")
    rules_version: Mapped[int] = mapped_column(default=1, server_default="1")
    entry_mode: Mapped[EntryMode] = mapped_column(
        stored_enum(EntryMode, name="entry_mode"), default=EntryMode.OPEN, server_default="open"
    )
    entry_code: Mapped[str | None] = mapped_column(String(64))
    entry_deadline: Mapped[datetime | None]
    merger_deadline: Mapped[datetime | None]
    max_team_size: Mapped[int] = mapped_column(default=5, server_default="5")
    max_daily_submissions: Mapped[int | None] = mapped_column(
        Integer().evaluates_none(),  # None is no limit, not the default
        default=5,
        server_default="5",
    )
    max_total_submissions: Mapped[int | None]
    max_pending_submissions: Mapped[int] = mapped_column(default=5, server_default="5")
    max_hourly_rejections: Mapped[int] = mapped_column(default=30, server_default="30")
    selection_count: Mapped[int] = mapped_column(default=2, server_default="2")
    takes_late_submissions: Mapped[bool] = mapped_column(default=True, server_default=true())
    reveal_rule: Mapped[RevealRule] = mapped_column(
        stored_enum(RevealRule, name="reveal_rule"), default=RevealRule.DATE, server_default="date"
    )
    reveals_at: Mapped[datetime | None]
    selection_deadline: Mapped[datetime | None]
    paused_at: Mapped[datetime | None]
    pause_message: Mapped[str] = mapped_column(Text, default="", server_default="")
    solution_published_at: Mapped[datetime | None]
    settled_at: Mapped[datetime | None]
    finalized_at: Mapped[datetime | None]
    live_scoring_version_id: Mapped[int | None] = mapped_column(
        ForeignKey("scoring_version.id", use_alter=True)
    )

    live_scoring_version: Mapped["ScoringVersion | None"] = relationship(
        foreign_keys=[live_scoring_version_id], post_update=True
    )
