"""Four feedback modes: `ladder` and `noised` become `tiered`, and `terms` becomes `score`.

The public standings of unrevealed competitions in `ladder` or `noised` mode are recomputed from bands of the
exact scores. Revealed competitions keep their standings. The columns `score.shown_units` and
`competition.feedback_key` and the empty table `score_basis` remain, because processes of the previous version
use them during an upgrade. No code reads them any longer.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0030"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
SUCCESSORS = {"ladder": "tiered", "noised": "tiered", "terms": "score"}
ORIGIN = "upgrade"
EFFECTS = {
    "tiered": "The leaderboard shows the band of each score, and ranks were recomputed.",
    "score": "The leaderboard shows scores without their terms.",
}
FOOTER = "\n\n-- \nChoose which e-mails you receive: {site}/account\n"


def _table(name: str, columns: str, *times: str, json: tuple[str, ...] = ()) -> sa.TableClause:
    plain = (sa.column(column) for column in columns.split())
    typed = (sa.column(column, TIME) for column in times)
    return sa.table(name, *plain, *typed, *(sa.column(column, sa.JSON()) for column in json))


competition = _table("competition", "id slug title feedback feedback_step state", "revealed_at")
version = _table("scoring_version", "id competition_id state")
submission = _table("submission", "id team_id kind", "submitted_at")
score = _table("score", "submission_id scoring_version_id split score")
team = _table("team", "id", "disqualified_at")
standing = _table("standing", "scoring_version_id split team_id submission_id score_units", "submitted_at")
daily_rank = _table("daily_rank", "scoring_version_id")
organizer = _table("organizer", "competition_id user_id role")
user = _table(
    "user_account", "id email is_admin", "email_verified_at", "deleted_at", json=("unwanted_notices",)
)
entry = _table(
    "audit_entry",
    "competition_id origin action subject reason is_public public_text",
    "at",
    json=("before", "after", "times"),
)
mail = _table("mail", "key user_id to_address subject body attempt_count", "created_at", "available_at")


def upgrade() -> None:
    """Change the modes, and recompute and announce the affected standings."""
    connection, now = op.get_bind(), datetime.now(UTC)
    connection.execute(sa.delete(sa.table("score_basis")))
    changed = connection.execute(sa.select(competition).where(competition.c.feedback.in_(SUCCESSORS))).all()
    for row in changed:
        mode = SUCCESSORS[row.feedback]
        own = competition.c.id == row.id
        connection.execute(sa.update(competition).where(own).values(feedback=mode))
        if row.state == "draft" or row.revealed_at is not None:
            continue
        if mode == "tiered":
            _recompute(connection, row.id, step_units=round(float(row.feedback_step) * 100_000))
        _announce(connection, row, mode, now)


def _recompute(connection: sa.Connection, competition_id: int, *, step_units: int) -> None:
    """Replace the public standings: each team's best band, then the earlier file, then the lower id."""
    versions = connection.scalars(
        sa.select(version.c.id).where(
            version.c.competition_id == competition_id, version.c.state.in_(("live", "preparing"))
        )
    ).all()
    for version_id in versions:
        is_public = (score.c.scoring_version_id == version_id) & (score.c.split == "public")
        files = connection.execute(
            sa.select(submission.c.team_id, submission.c.id, submission.c.submitted_at, score.c.score)
            .join_from(submission, score, (score.c.submission_id == submission.c.id) & is_public)
            .join(team, team.c.id == submission.c.team_id)
            .where(submission.c.kind == "normal", team.c.disqualified_at.is_(None))
        )
        connection.execute(
            sa.delete(standing).where(
                standing.c.scoring_version_id == version_id, standing.c.split == "public"
            )
        )
        rows = list(_best(files, version_id, step_units))
        if rows:
            connection.execute(sa.insert(standing), rows)
        connection.execute(sa.delete(daily_rank).where(daily_rank.c.scoring_version_id == version_id))


def _best(files: Iterable[sa.Row], version_id: int, step_units: int) -> Iterable[dict[str, object]]:
    best: dict[int, tuple[int, datetime, int]] = {}
    for team_id, submission_id, submitted_at, value in files:
        units = int(Decimal(value).quantize(Decimal("0.00001"), ROUND_HALF_EVEN).scaleb(5))
        key = (-(units // step_units * step_units), submitted_at, submission_id)
        best[team_id] = min(key, best.get(team_id, key))
    for team_id, (negative_units, submitted_at, submission_id) in best.items():
        yield {
            "scoring_version_id": version_id,
            "split": "public",
            "team_id": team_id,
            "submission_id": submission_id,
            "score_units": -negative_units,
            "submitted_at": submitted_at,
        }


def _announce(connection: sa.Connection, row: sa.Row, mode: str, now: datetime) -> None:
    """Add an entry to the public log, and queue an e-mail to the organizers."""
    text = (
        f"This version of Fairboard has no feedback mode “{row.feedback}”. The mode is now “{mode}”. "
        f"{EFFECTS[mode]}"
    )
    connection.execute(
        sa.insert(entry).values(
            competition_id=row.id,
            at=now,
            origin=ORIGIN,
            action="competition.change",
            subject="feedback mode",
            before={"feedback": row.feedback},
            after={"feedback": mode},
            times=[],
            reason="",
            is_public=True,
            public_text=text,
        )
    )
    organizes = sa.select(organizer.c.user_id).where(
        organizer.c.competition_id == row.id, organizer.c.role != "viewer"
    )
    users = connection.execute(
        sa.select(user.c.id, user.c.email, user.c.unwanted_notices).where(
            user.c.deleted_at.is_(None),
            user.c.email.is_not(None),
            user.c.email_verified_at.is_not(None),
            user.c.is_admin | user.c.id.in_(organizes),
        )
    ).all()
    letters = [
        {
            "key": f"{user_id}:organizer-four-modes:{row.id}",
            "user_id": user_id,
            "to_address": email,
            "subject": f"The feedback mode of {row.title} has changed"[:200],
            "body": f"{text}\n\n{{site}}/competitions/{row.slug}/organize{FOOTER}",
            "attempt_count": 0,
            "created_at": now,
            "available_at": now,
        }
        for user_id, email, unwanted in users
        if "organizer" not in (unwanted or ())
    ]
    if letters:
        connection.execute(sa.insert(mail), letters)


def downgrade() -> None:
    """Change nothing: the previous version knows the four modes."""
