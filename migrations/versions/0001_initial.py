"""Initial schema: a change of the models edits this file until the first release.

Constraints and indexes without a name follow the naming convention of `Base` in grader/models/base.py.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Tables that refer to others come first.
TABLES = (
    *("standing", "scoring_job", "score", "team_member", "team_invite", "submission_grant"),
    *("submission", "scoring_version", "participation", "merge_request", "team", "solution"),
    *("second_factor", "roster_entry", "recovery_code", "organizer_job", "organizer", "mail"),
    *("login", "kept_identity", "identity", "figure", "factor_step", "data_file", "audit_entry"),
    *("api_token", "announcement", "announced_upload", "account_link", "user_account", "tally"),
    *("competition", "backup_run"),
)
LIVE = "fk_competition_live_scoring_version_id_scoring_version"


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "backup_run",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("ended_at", TIME),
        sa.Column("error", sa.Text()),
    )
    op.create_table(
        "competition",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("slug", sa.String(40), nullable=False, unique=True),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("stage_name", sa.String(64), nullable=False),
        sa.Column(
            "previous_stage_id", sa.Integer(), sa.ForeignKey("competition.id"), index=True, unique=True
        ),
        sa.Column("overview", sa.Text(), nullable=False),
        sa.Column("evaluation", sa.Text(), nullable=False),
        sa.Column("data_description", sa.Text(), nullable=False),
        sa.Column("summary", sa.String(200)),
        sa.Column("positive_name", sa.String(64), nullable=False),
        sa.Column("negative_name", sa.String(64), nullable=False),
        sa.Column("contact", sa.String(500), nullable=False),
        sa.Column("color", sa.String(16), nullable=False),
        sa.Column(
            "feedback",
            sa.String(16),
            nullable=False,
        ),
        sa.Column(
            "feedback_step",
            sa.String(16),
            nullable=False,
        ),
        sa.Column("boards", sa.Text(), nullable=False),
        sa.Column("anonymity", sa.String(16), nullable=False),
        sa.Column("visibility", sa.String(16), nullable=False),
        sa.Column("draft_metric", JSON),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("opens_at", TIME),
        sa.Column("closes_at", TIME),
        sa.Column("revealed_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.Column("rules_version", sa.Integer(), nullable=False),
        sa.Column(
            "entry_mode",
            sa.String(16),
            nullable=False,
        ),
        sa.Column("entry_code", sa.String(64)),
        sa.Column("entry_deadline", TIME),
        sa.Column("merger_deadline", TIME),
        sa.Column("divisions", sa.Text(), nullable=False),
        sa.Column("division_choice", sa.String(16), nullable=False),
        sa.Column("max_team_size", sa.Integer(), nullable=False),
        sa.Column("max_daily_submissions", sa.Integer()),
        sa.Column("max_total_submissions", sa.Integer()),
        sa.Column("max_pending_submissions", sa.Integer(), nullable=False),
        sa.Column("max_hourly_rejections", sa.Integer(), nullable=False),
        sa.Column("selection_count", sa.Integer(), nullable=False),
        sa.Column("takes_late_submissions", sa.Boolean(), nullable=False),
        sa.Column("reveal_rule", sa.String(16), nullable=False),
        sa.Column("reveals_at", TIME),
        sa.Column("selection_deadline", TIME),
        sa.Column("extended_until", TIME),
        sa.Column("section_use", sa.String(16)),
        sa.Column("paused_at", TIME),
        sa.Column("pause_message", sa.Text(), nullable=False),
        sa.Column("solution_published_at", TIME),
        sa.Column("settled_at", TIME),
        sa.Column(
            "live_scoring_version_id",
            sa.Integer(),
            sa.ForeignKey("scoring_version.id", name=LIVE, use_alter=True),
        ),
        sa.Column("saved_sections", sa.String(64), nullable=False),
        sa.Column("act_number", sa.Integer(), nullable=False),
        sa.Column("formatted", JSON),
    )
    op.create_table(
        "tally",
        sa.Column("id", BIG_ID, primary_key=True),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("whose", sa.String(64), nullable=False),
        sa.Column("at", TIME, nullable=False, index=True),
        sa.Index("ix_tally_kind_whose_at", "kind", "whose", "at"),
    )
    op.create_table(
        "user_account",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(256), nullable=False),
        sa.Column("name_folded", sa.String(256), nullable=False, unique=True),
        sa.Column("name_key", sa.String(256), nullable=False, unique=True),
        sa.Column("password_hash", sa.String(255), nullable=False),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("email", sa.String(254)),
        sa.Column("email_key", sa.String(254), unique=True),
        sa.Column("email_verified_at", TIME),
        sa.Column("unwanted_notices", JSON, nullable=False),
        sa.Column("deleted_at", TIME),
        sa.Column("suspended_at", TIME),
        sa.Column("suspension_reason", sa.Text(), nullable=False),
    )
    op.create_table(
        "account_link",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column(
            "purpose",
            sa.String(16),
            nullable=False,
        ),
        sa.Column("token_sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), index=True),
        sa.Column("email", sa.String(254)),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("used_at", TIME),
    )
    op.create_table(
        "announced_upload",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("token_sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False, index=True),
        sa.Column(
            "competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False, index=True
        ),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(64)),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False, index=True),
        sa.Column("used_at", TIME),
    )
    op.create_table(
        "announcement",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column(
            "competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False, index=True
        ),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("posted_at", TIME, nullable=False),
        sa.Column("edited_at", TIME),
        sa.Column("withdrawn_at", TIME),
        sa.Column("formatted", JSON),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "api_token",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False, index=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("prefix", sa.String(16), nullable=False),
        sa.Column("token_sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("scopes", JSON, nullable=False),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id"), index=True),
        sa.Column("made_with_id", sa.Integer(), sa.ForeignKey("api_token.id"), index=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME),
        sa.Column("last_used_at", TIME),
        sa.Column("revoked_at", TIME),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "audit_entry",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id")),
        sa.Column("at", TIME, nullable=False),
        sa.Column("actor_id", sa.Integer(), sa.ForeignKey("user_account.id")),
        sa.Column("origin", sa.String(64), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("before", JSON, nullable=False),
        sa.Column("after", JSON, nullable=False),
        sa.Column("times", JSON, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("is_public", sa.Boolean(), nullable=False),
        sa.Column("public_text", sa.Text(), nullable=False),
        sa.Index("ix_audit_entry_competition_id_id", "competition_id", "id"),
    )
    op.create_table(
        "data_file",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("uploaded_at", TIME, nullable=False),
        sa.Column(
            "check_state",
            sa.String(16),
            nullable=False,
        ),
        sa.Column("check_key", sa.String(64)),
        sa.Column("findings", JSON, nullable=False),
        sa.Column("allowed", JSON, nullable=False),
        sa.UniqueConstraint("competition_id", "name", name="uq_data_file_competition_id_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "factor_step",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False, index=True),
        sa.Column("purpose", sa.String(16), nullable=False),
        sa.Column("token_sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("is_confirmed", sa.Boolean(), nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
    )
    op.create_table(
        "figure",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("media_type", sa.String(32), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("uploaded_at", TIME, nullable=False),
        sa.UniqueConstraint("competition_id", "name", name="uq_figure_competition_id_name"),
    )
    op.create_table(
        "identity",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), index=True),
        sa.Column("provider", sa.String(32), nullable=False),
        sa.Column("issuer", sa.String(255), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("email", sa.String(254)),
        sa.Column("linked_at", TIME),
        sa.Column("last_login_at", TIME, nullable=False),
        sa.UniqueConstraint("issuer", "subject", name="uq_identity_issuer_subject"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "kept_identity",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False),
        sa.Column("identity_hash", sa.String(64), nullable=False, index=True),
        sa.UniqueConstraint("user_id", "identity_hash", name="uq_kept_identity_user_id_identity_hash"),
    )
    op.create_table(
        "login",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False, index=True),
        sa.Column("token_sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("user_agent", sa.Text(), nullable=False),
        sa.Column("provider", sa.String(32)),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_used_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "mail",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("key", sa.String(128), unique=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), index=True),
        sa.Column("to_address", sa.String(254), nullable=False),
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False, index=True),
        sa.Column("available_at", TIME, nullable=False),
        sa.Column("attempt_count", sa.Integer(), nullable=False),
        sa.Column("sent_at", TIME),
        sa.Column("error", sa.Text()),
        sa.Index("ix_mail_sent_at_available_at", "sent_at", "available_at"),
    )
    op.create_table(
        "organizer",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False, index=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("added_at", TIME, nullable=False),
        sa.UniqueConstraint("competition_id", "user_id", name="uq_organizer_competition_id_user_id"),
    )
    op.create_table(
        "organizer_job",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False),
        sa.Column(
            "kind",
            sa.String(16),
            nullable=False,
        ),
        sa.Column("parameters", JSON, nullable=False),
        sa.Column("is_python", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created_by_id", sa.Integer(), sa.ForeignKey("user_account.id")),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("available_at", TIME, nullable=False),
        sa.Column("lease_until", TIME),
        sa.Column("token", sa.String(32)),
        sa.Column("holder", sa.String(120)),
        sa.Column("attempt_count", sa.Integer(), nullable=False),
        sa.Column("error_count", sa.Integer(), nullable=False),
        sa.Column("progress", JSON, nullable=False),
        sa.Column("result", JSON, nullable=False),
        sa.Column("problems", JSON, nullable=False),
        sa.Column("incident", sa.String(16)),
        sa.Column("finished_at", TIME),
        sa.Column("dismissed_at", TIME),
        sa.Index("ix_organizer_job_competition_id_kind", "competition_id", "kind"),
        sa.Index("ix_organizer_job_state_available_at", "state", "available_at"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "recovery_code",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False),
        sa.Column("code_sha256", sa.String(64), nullable=False),
        sa.UniqueConstraint("user_id", "code_sha256", name="uq_recovery_code_user_id_code_sha256"),
    )
    op.create_table(
        "roster_entry",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), index=True),
        sa.Column("name", sa.String(256), nullable=False),
        sa.Column("student_id", sa.String(64)),
        sa.Column("email", sa.String(254)),
        sa.Column("section", sa.String(64), nullable=False),
        sa.Column("link_sha256", sa.String(64), unique=True),
        sa.Column("original", JSON, nullable=False),
        sa.UniqueConstraint("competition_id", "student_id", name="uq_roster_entry_competition_id_student_id"),
        sa.UniqueConstraint("competition_id", "user_id", name="uq_roster_entry_competition_id_user_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "second_factor",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("key_id", sa.String(1400), nullable=False, unique=True),
        sa.Column("public_key", sa.Text()),
        sa.Column("counter", sa.BigInteger(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_used_at", TIME),
        sa.UniqueConstraint("user_id", "name", name="uq_second_factor_user_id_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "solution",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("row_ids_sha256", sa.String(64), nullable=False),
        sa.Column("prepared_sha256", sa.String(64), nullable=False),
        sa.Column("sample_submission_sha256", sa.String(64), nullable=False),
        sa.Column("row_count", sa.Integer(), nullable=False),
        sa.Column("public_row_count", sa.Integer(), nullable=False),
        sa.Column("private_row_count", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("nonce", sa.String(64), nullable=False),
        sa.Column("report", JSON, nullable=False),
        sa.Column("uploaded_at", TIME, nullable=False),
        sa.UniqueConstraint("competition_id", "number", name="uq_solution_competition_id_number"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "team",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False),
        sa.Column("name", sa.String(256), nullable=False),
        sa.Column("name_key", sa.String(256), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("leader_id", sa.Integer(), sa.ForeignKey("user_account.id")),
        sa.Column("merged_into_id", sa.Integer(), sa.ForeignKey("team.id"), index=True),
        sa.Column("disqualified_at", TIME),
        sa.Column("extended_until", TIME),
        sa.Column("disqualification_reason", sa.Text(), nullable=False),
        sa.Column("is_organizers", sa.Boolean(), nullable=False),
        sa.Column("is_name_fixed", sa.Boolean(), nullable=False),
        sa.Column("alias", sa.String(16), nullable=False),
        sa.Column("division", sa.String(64)),
        sa.Column("carried_from_id", sa.Integer(), sa.ForeignKey("team.id"), index=True),
        sa.UniqueConstraint("competition_id", "name_key", name="uq_team_competition_id_name_key"),
        sa.Index("ix_team_competition_id_alias", "competition_id", "alias", unique=True),
        sa.Index(
            "ix_team_organizers",
            "competition_id",
            postgresql_where=sa.text("is_organizers"),
            sqlite_where=sa.text("is_organizers = 1"),
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "merge_request",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("from_team_id", sa.Integer(), sa.ForeignKey("team.id"), nullable=False, index=True),
        sa.Column("to_team_id", sa.Integer(), sa.ForeignKey("team.id"), nullable=False, index=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "participation",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False, index=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("rules_version", sa.Integer(), nullable=False),
        sa.Column("requested_at", TIME, nullable=False),
        sa.Column("joined_at", TIME),
        sa.UniqueConstraint("competition_id", "user_id", name="uq_participation_competition_id_user_id"),
        sa.Index("ix_participation_competition_id_state", "competition_id", "state"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "scoring_version",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("solution_id", sa.Integer(), sa.ForeignKey("solution.id"), nullable=False),
        sa.Column("metric_settings", JSON, nullable=False),
        sa.Column("metric_code_version", sa.String(32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created_by", sa.String(64), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("published_at", TIME),
        sa.Column("notice", sa.Text(), nullable=False),
        sa.Column("replaced_number", sa.Integer()),
        sa.UniqueConstraint("competition_id", "number", name="uq_scoring_version_competition_id_number"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "submission",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False),
        sa.Column("team_id", sa.Integer(), sa.ForeignKey("team.id"), nullable=False),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("file_name", sa.String(255), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("submitted_at", TIME, nullable=False),
        sa.Column("finished_at", TIME),
        sa.Column("problems", JSON, nullable=False),
        sa.Column("notes", JSON, nullable=False),
        sa.Column("incident", sa.String(16)),
        sa.Column(
            "kind",
            sa.String(16),
            nullable=False,
        ),
        sa.Column("is_selected", sa.Boolean(), nullable=False),
        sa.Column("slot_day", sa.Date()),
        sa.Column("file_deleted_at", TIME),
        sa.Column("idempotency_key", sa.String(128)),
        sa.UniqueConstraint("team_id", "idempotency_key", name="uq_submission_team_id_idempotency_key"),
        sa.Index("ix_submission_competition_id_status", "competition_id", "status"),
        sa.Index("ix_submission_entries", "competition_id", "kind", "status", "team_id", "submitted_at"),
        sa.Index(
            "ix_submission_file_deleted_at",
            "file_deleted_at",
            postgresql_where=sa.text("file_deleted_at IS NOT NULL"),
            sqlite_where=sa.text("file_deleted_at IS NOT NULL"),
        ),
        sa.Index("ix_submission_team_id_slot_day", "team_id", "slot_day"),
        sa.Index("ix_submission_team_id_submitted_at", "team_id", "submitted_at"),
    )
    op.create_table(
        "submission_grant",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False),
        sa.Column("team_id", sa.Integer(), sa.ForeignKey("team.id")),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("granted_at", TIME, nullable=False),
        sa.Index("ix_submission_grant_competition_id_team_id", "competition_id", "team_id"),
    )
    op.create_table(
        "team_invite",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("team_id", sa.Integer(), sa.ForeignKey("team.id"), nullable=False, index=True),
        sa.Column("token_sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("created_by_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("ended_at", TIME),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "team_member",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("competition_id", sa.Integer(), sa.ForeignKey("competition.id"), nullable=False),
        sa.Column("team_id", sa.Integer(), sa.ForeignKey("team.id"), nullable=False, index=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("user_account.id"), nullable=False, index=True),
        sa.Column("joined_at", TIME, nullable=False),
        sa.UniqueConstraint("competition_id", "user_id", name="uq_team_member_competition_id_user_id"),
    )
    op.create_table(
        "score",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("submission_id", sa.Integer(), sa.ForeignKey("submission.id"), nullable=False),
        sa.Column("scoring_version_id", sa.Integer(), sa.ForeignKey("scoring_version.id"), nullable=False),
        sa.Column("split", sa.String(16), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("terms", JSON, nullable=False),
        sa.Column("groups", JSON, nullable=False),
        sa.Column("counts", JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("errors", JSON),
        sa.UniqueConstraint(
            "submission_id",
            "scoring_version_id",
            "split",
            name="uq_score_submission_id_scoring_version_id_split",
        ),
    )
    op.create_table(
        "scoring_job",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("submission_id", sa.Integer(), sa.ForeignKey("submission.id"), nullable=False),
        sa.Column("scoring_version_id", sa.Integer(), sa.ForeignKey("scoring_version.id"), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("available_at", TIME, nullable=False),
        sa.Column("lease_until", TIME),
        sa.Column("token", sa.String(32)),
        sa.Column("holder", sa.String(120)),
        sa.Column("attempt_count", sa.Integer(), nullable=False),
        sa.Column("error_count", sa.Integer(), nullable=False),
        sa.Column("finished_at", TIME, index=True),
        sa.Column("problems", JSON, nullable=False),
        sa.Column("notes", JSON, nullable=False),
        sa.Column("incident", sa.String(16)),
        sa.UniqueConstraint(
            "submission_id",
            "scoring_version_id",
            name="uq_scoring_job_submission_id_scoring_version_id",
        ),
        sa.Index("ix_scoring_job_scoring_version_id_state", "scoring_version_id", "state"),
        sa.Index("ix_scoring_job_state_available_at", "state", "available_at"),
    )
    op.create_table(
        "standing",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("scoring_version_id", sa.Integer(), sa.ForeignKey("scoring_version.id"), nullable=False),
        sa.Column("split", sa.String(16), nullable=False),
        sa.Column("board", sa.String(40), nullable=False),
        sa.Column("team_id", sa.Integer(), sa.ForeignKey("team.id"), nullable=False),
        sa.Column("submission_id", sa.Integer(), sa.ForeignKey("submission.id"), nullable=False),
        sa.Column("score_units", sa.BigInteger(), nullable=False),
        sa.Column("submitted_at", TIME, nullable=False),
        sa.UniqueConstraint(
            "scoring_version_id",
            "split",
            "board",
            "team_id",
            name="uq_standing_scoring_version_id_split_board_team_id",
        ),
        sa.Index(
            "ix_standing_board",
            "scoring_version_id",
            "split",
            "board",
            sa.text("score_units DESC"),
            "submitted_at",
            "submission_id",
            "team_id",
        ),
    )
    if op.get_bind().dialect.supports_alter:  # in SQLite, the table already has the foreign key
        op.create_foreign_key(LIVE, "competition", "scoring_version", ["live_scoring_version_id"], ["id"])
    _protect_audit()


def _protect_audit() -> None:
    """Create triggers that reject changes to audit log entries and their deletion."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION refuse_change_of_audit() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'The audit is append-only.'; END $$"
        )
        op.execute(
            "CREATE TRIGGER audit_entry_is_append_only BEFORE UPDATE OR DELETE ON audit_entry "
            "FOR EACH ROW EXECUTE FUNCTION refuse_change_of_audit()"
        )
        return
    for event in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER audit_entry_refuses_{event.lower()} BEFORE {event} ON audit_entry "
            "BEGIN SELECT RAISE(ABORT, 'The audit is append-only.'); END"
        )


def downgrade() -> None:
    """Drop all tables."""
    if op.get_bind().dialect.supports_alter:
        op.drop_constraint(LIVE, "competition", type_="foreignkey")
    for table in TABLES:
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION refuse_change_of_audit()")
