"""Indexes for statements of members' pages, the organizers' console and the mailer."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the indexes."""
    op.create_index("ix_team_merged_into_id", "team", ["merged_into_id"])
    op.create_index(
        "ix_team_organizers",
        "team",
        ["competition_id"],
        postgresql_where=sa.text("is_organizers"),
        sqlite_where=sa.text("is_organizers = 1"),
    )
    op.create_index("ix_participation_competition_id_state", "participation", ["competition_id", "state"])
    op.create_index("ix_scoring_job_finished_at", "scoring_job", ["finished_at"])
    op.create_index(
        "ix_submission_file_deleted_at",
        "submission",
        ["file_deleted_at"],
        postgresql_where=sa.text("file_deleted_at IS NOT NULL"),
        sqlite_where=sa.text("file_deleted_at IS NOT NULL"),
    )
    op.create_index("ix_mail_created_at", "mail", ["created_at"])


def downgrade() -> None:
    """Drop the indexes."""
    op.drop_index("ix_submission_file_deleted_at", "submission")
    op.drop_index("ix_mail_created_at", "mail")
    op.drop_index("ix_scoring_job_finished_at", "scoring_job")
    op.drop_index("ix_participation_competition_id_state", "participation")
    op.drop_index("ix_team_organizers", "team")
    op.drop_index("ix_team_merged_into_id", "team")
