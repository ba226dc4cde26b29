"""Tables for competitions, organizers, participants, data files, figures, announcements."""

import enum
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    ForeignKey,
    Index,
    Integer,
    String,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column, query_expression, relationship, validates

from grader.models.base import Base
from grader.models.people import User
from grader.models.teams import RequestState
from grader.ranking.order import SCALE, Scale
from grader.visibility import USUAL_FEEDBACK, Anonymity, Feedback, Step, Visibility

if TYPE_CHECKING:
    from grader.models.scoring import ScoringVersion

TEXTS = ("overview", "evaluation", "data_description", "rules")
# The slug of a deleted draft becomes this prefix and its id. No URL matches it, because slugs contain no
# colon.
DELETED = "deleted:"


class CompetitionState(enum.StrEnum):
    """The stored states; the phases scheduled, open and closed depend on the time."""

    DRAFT = "draft"
    PUBLISHED = "published"
    REVEALED = "revealed"
    ARCHIVED = "archived"


class EntryMode(enum.StrEnum):
    """Entry policies: anyone, users with the entry code, or users whom an organizer admits."""

    OPEN = "open"
    CODE = "code"
    APPROVAL = "approval"


class DivisionChoice(enum.StrEnum):
    """The role that chooses a team's division."""

    TEAM = "team"
    ORGANIZERS = "organizers"


class RevealRule(enum.StrEnum):
    """Reveal policies for the private leaderboard: automatic on a date, or only by an organizer."""

    DATE = "date"
    ORGANIZER = "organizer"


class SectionUse(enum.StrEnum):
    """The use of a roster's sections: none, as divisions, or as teams with all their students."""

    NOTHING = "nothing"
    DIVISIONS = "divisions"
    TEAMS = "teams"


class Color(enum.StrEnum):
    """Competition colors; `auto` derives the color from the slug."""

    AUTO = "auto"
    TEAL = "teal"
    BLUE = "blue"
    VIOLET = "violet"
    PLUM = "plum"
    ROSE = "rose"
    BRICK = "brick"
    AMBER = "amber"
    GREEN = "green"


class _WithTexts:
    """Mixin for rows with Markdown texts and their cached HTML, which is cleared on changes."""

    formatted: Mapped[dict[str, Any] | None] = mapped_column(deferred=True)

    @validates(*TEXTS, "body")
    def _format_again(self, name: str, text: str) -> str:
        if getattr(self, name) != text:
            self.formatted = None
        return text


class Competition(_WithTexts, Base):
    """A competition.

    Its leaderboards show the scores of `live_scoring_version`. A limit of None means that there is no limit.

    `reveals_at` is the time of the automatic reveal. `settled_at` is the time at which the private standings
    were computed, after every submission accepted before the close had its result.

    `summary` is the first paragraph of the overview. It is set when the overview is formatted.

    A draft may lack dates and a live scoring version; `draft_metric` contains the metric settings with which
    its solution will be checked. While `paused_at` is set, uploads are rejected with `pause_message`.
    Selections are frozen at the close, or at `selection_deadline` if an organizer has reopened them.
    `extended_until` is the latest extension of a team, for which settling and the reveal wait.
    `section_use` is None for a competition without a roster. `saved_sections` contains the keys of the
    sections of the setup page that an organizer has saved.

    Every act of a person raises `act_number`, so that pages in caches show its effect at once.

    A stage of a title refers to its previous stage. A draft has no next stage. `next_stage_id` is loaded by
    the queries in `services.competitions.lookup`.
    """

    __tablename__ = "competition"

    slug: Mapped[str] = mapped_column(String(40), unique=True)
    title: Mapped[str] = mapped_column(String(200))
    stage_name: Mapped[str] = mapped_column(String(64), default="")
    previous_stage_id: Mapped[int | None] = mapped_column(
        ForeignKey("competition.id"), index=True, unique=True
    )
    next_stage_id: Mapped[int | None] = query_expression()
    overview: Mapped[str] = mapped_column(default="")
    evaluation: Mapped[str] = mapped_column(default="")
    data_description: Mapped[str] = mapped_column(default="")
    summary: Mapped[str | None] = mapped_column(String(200))
    positive_name: Mapped[str] = mapped_column(String(64), default="positive")
    negative_name: Mapped[str] = mapped_column(String(64), default="negative")
    contact: Mapped[str] = mapped_column(String(500), default="")
    color: Mapped[Color] = mapped_column(default=Color.AUTO)
    feedback: Mapped[Feedback] = mapped_column(default=USUAL_FEEDBACK)
    feedback_step: Mapped[Step] = mapped_column(default=Step.OF_0_002)
    boards: Mapped[str] = mapped_column(default="")
    anonymity: Mapped[Anonymity] = mapped_column(
        default=Anonymity.NONE,
    )
    visibility: Mapped[Visibility] = mapped_column(
        default=Visibility.PUBLIC,
    )
    draft_metric: Mapped[dict[str, Any] | None]
    state: Mapped[CompetitionState]
    opens_at: Mapped[datetime | None]
    closes_at: Mapped[datetime | None]
    revealed_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    rules: Mapped[str] = mapped_column(default="")
    rules_version: Mapped[int] = mapped_column(default=1)
    entry_mode: Mapped[EntryMode] = mapped_column(default=EntryMode.OPEN)
    entry_code: Mapped[str | None] = mapped_column(String(64))
    entry_deadline: Mapped[datetime | None]
    merger_deadline: Mapped[datetime | None]
    divisions: Mapped[str] = mapped_column(default="")
    division_choice: Mapped[DivisionChoice] = mapped_column(
        default=DivisionChoice.TEAM,
    )
    max_team_size: Mapped[int] = mapped_column(default=5)
    max_daily_submissions: Mapped[int | None] = mapped_column(
        Integer().evaluates_none(),  # None means no limit, not the default
        default=5,
    )
    max_total_submissions: Mapped[int | None]
    max_pending_submissions: Mapped[int] = mapped_column(default=5)
    max_hourly_rejections: Mapped[int] = mapped_column(default=30)
    selection_count: Mapped[int] = mapped_column(default=2)
    takes_late_submissions: Mapped[bool] = mapped_column(default=True)
    reveal_rule: Mapped[RevealRule] = mapped_column(default=RevealRule.DATE)
    reveals_at: Mapped[datetime | None]
    selection_deadline: Mapped[datetime | None]
    extended_until: Mapped[datetime | None]
    section_use: Mapped[SectionUse | None]
    paused_at: Mapped[datetime | None]
    pause_message: Mapped[str] = mapped_column(default="")
    solution_published_at: Mapped[datetime | None]
    settled_at: Mapped[datetime | None]
    live_scoring_version_id: Mapped[int | None] = mapped_column(
        ForeignKey("scoring_version.id", use_alter=True)
    )

    saved_sections: Mapped[str] = mapped_column(String(64), default="")
    act_number: Mapped[int] = mapped_column(default=0)

    live_scoring_version: Mapped["ScoringVersion | None"] = relationship(
        foreign_keys=[live_scoring_version_id], post_update=True
    )

    @property
    def full_title(self) -> str:
        """The title with the name of the stage, if any."""
        return f"{self.title} · {self.stage_name}" if self.stage_name else self.title

    @property
    def scale(self) -> Scale:
        """The scale of the metric's scores."""
        return SCALE if self.live_scoring_version is None else self.live_scoring_version.scale

    @property
    def is_anonymous(self) -> bool:
        """Whether the competition currently shows aliases; see `services/competitions/team_names.py`."""
        until_reveal = self.anonymity is Anonymity.UNTIL_REVEAL and self.revealed_at is None
        return until_reveal or self.anonymity is Anonymity.ALWAYS


class Role(enum.StrEnum):
    """The roles of organizers.

    An editor may do everything except publish, archive and manage organizers. A viewer has read-only access.
    """

    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"


class Organizer(Base):
    """A user's role in a competition; site administrators are owners even without a row."""

    __tablename__ = "organizer"
    __table_args__ = (UniqueConstraint("competition_id", "user_id"),)

    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    role: Mapped[Role]
    added_at: Mapped[datetime]

    user: Mapped[User] = relationship()


class Participation(Base):
    """A user's entry in a competition, with the accepted version of the rules."""

    __tablename__ = "participation"
    __table_args__ = (
        UniqueConstraint("competition_id", "user_id"),
        Index("ix_participation_competition_id_state", "competition_id", "state"),
        {"sqlite_autoincrement": True},
    )

    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    state: Mapped[RequestState]
    rules_version: Mapped[int]
    requested_at: Mapped[datetime]
    joined_at: Mapped[datetime | None]

    competition: Mapped[Competition] = relationship()
    user: Mapped[User] = relationship()


class RosterEntry(Base):
    """A student on the roster of a class.

    `user` is None until the student joins. Only the organizers have stated the `email`. `link_sha256` is the
    hash of the invitation's link. `original` are the headings and cells of the row in the imported file.
    """

    __tablename__ = "roster_entry"
    __table_args__ = (
        UniqueConstraint("competition_id", "student_id"),
        UniqueConstraint("competition_id", "user_id"),
        {"sqlite_autoincrement": True},
    )

    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"), index=True)
    name: Mapped[str] = mapped_column(String(256))
    student_id: Mapped[str | None] = mapped_column(String(64))
    email: Mapped[str | None] = mapped_column(String(254))
    section: Mapped[str] = mapped_column(String(64), default="")
    link_sha256: Mapped[str | None] = mapped_column(String(64), unique=True)
    original: Mapped[list[list[str]]] = mapped_column(default=list)

    user: Mapped[User | None] = relationship()


class DataCheckState(enum.StrEnum):
    """The states of a data file's check for disclosed labels.

    `allowed` files disclose labels or could not be read, but an organizer has released them.
    """

    WAITING = "waiting"
    PASSED = "passed"
    HELD = "held"
    ALLOWED = "allowed"


class DataFile(Base):
    """A file on the Data page.

    `check_key` identifies the checked bytes and the solutions. `findings` contains the check's result.
    `allowed` contains the time of a release, and the findings that it covers.
    """

    __tablename__ = "data_file"
    __table_args__ = (UniqueConstraint("competition_id", "name"), {"sqlite_autoincrement": True})

    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    name: Mapped[str] = mapped_column(String(255))
    description: Mapped[str] = mapped_column(default="")
    sha256: Mapped[str] = mapped_column(String(64))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    uploaded_at: Mapped[datetime]
    check_state: Mapped[DataCheckState] = mapped_column(
        default=DataCheckState.WAITING,
    )
    check_key: Mapped[str | None] = mapped_column(String(64))
    findings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    allowed: Mapped[dict[str, Any]] = mapped_column(default=dict)


class Figure(Base):
    """An image for the competition's texts; its bytes are stored as a blob."""

    __tablename__ = "figure"
    __table_args__ = (UniqueConstraint("competition_id", "name"),)

    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    name: Mapped[str] = mapped_column(String(80))
    media_type: Mapped[str] = mapped_column(String(32))
    sha256: Mapped[str] = mapped_column(String(64))
    size_bytes: Mapped[int]
    width: Mapped[int]
    height: Mapped[int]
    uploaded_at: Mapped[datetime]


class Announcement(_WithTexts, Base):
    """An announcement in Markdown; a withdrawn announcement is hidden but kept for the audit log."""

    __tablename__ = "announcement"
    __table_args__ = ({"sqlite_autoincrement": True},)

    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"), index=True)
    title: Mapped[str] = mapped_column(String(200))
    body: Mapped[str]
    posted_at: Mapped[datetime]
    edited_at: Mapped[datetime | None]
    withdrawn_at: Mapped[datetime | None]
