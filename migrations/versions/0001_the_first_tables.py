"""The first tables."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
LIVE = "fk_competition_live_scoring_version_id_scoring_version"
JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "competition",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(length=40), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("overview", sa.Text(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "draft",
                "published",
                "revealed",
                "archived",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=16,
            ),
            nullable=False,
        ),
        sa.Column("opens_at", TIME, nullable=True),
        sa.Column("closes_at", TIME, nullable=True),
        sa.Column("revealed_at", TIME, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("live_scoring_version_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["live_scoring_version_id"], ["scoring_version.id"], name=LIVE, use_alter=True
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_competition")),
        sa.UniqueConstraint("slug", name=op.f("uq_competition_slug")),
    )
    op.create_table(
        "setup_link",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("token_sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("used_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_setup_link")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_setup_link_token_sha256")),
    )
    op.create_table(
        "user_account",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("name_key", sa.String(length=256), nullable=False),
        sa.Column("password_hash", sa.String(length=255), nullable=False),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_account")),
        sa.UniqueConstraint("name_key", name=op.f("uq_user_account_name_key")),
    )
    op.create_table(
        "api_token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("prefix", sa.String(length=16), nullable=False),
        sa.Column("token_sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_used_at", TIME, nullable=True),
        sa.Column("revoked_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_api_token_user_id_user_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_token")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_api_token_token_sha256")),
    )
    op.create_index("ix_api_token_user_id", "api_token", ["user_id"])
    op.create_table(
        "login",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("token_sha256", sa.String(length=64), nullable=False),
        sa.Column("user_agent", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_used_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_login_user_id_user_account")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_login_token_sha256")),
    )
    op.create_index("ix_login_user_id", "login", ["user_id"])
    op.create_table(
        "solution",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("row_ids_sha256", sa.String(length=64), nullable=False),
        sa.Column("prepared_sha256", sa.String(length=64), nullable=False),
        sa.Column("sample_submission_sha256", sa.String(length=64), nullable=False),
        sa.Column("row_count", sa.Integer(), nullable=False),
        sa.Column("public_row_count", sa.Integer(), nullable=False),
        sa.Column("private_row_count", sa.Integer(), nullable=False),
        sa.Column("report", JSON, nullable=False),
        sa.Column("uploaded_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_solution_competition_id_competition")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_solution")),
        sa.UniqueConstraint("competition_id", "number", name=op.f("uq_solution_competition_id_number")),
    )
    op.create_table(
        "team",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("name_key", sa.String(length=256), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_team_competition_id_competition")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_team")),
        sa.UniqueConstraint("competition_id", "name_key", name=op.f("uq_team_competition_id_name_key")),
    )
    op.create_table(
        "scoring_version",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("solution_id", sa.Integer(), nullable=False),
        sa.Column("metric_settings", JSON, nullable=False),
        sa.Column("metric_code_version", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "preparing",
                "live",
                "retired",
                "dropped",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=16,
            ),
            nullable=False,
        ),
        sa.Column("created_by", sa.String(length=64), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("published_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_scoring_version_competition_id_competition")
        ),
        sa.ForeignKeyConstraint(
            ["solution_id"], ["solution.id"], name=op.f("fk_scoring_version_solution_id_solution")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scoring_version")),
        sa.UniqueConstraint(
            "competition_id", "number", name=op.f("uq_scoring_version_competition_id_number")
        ),
    )
    op.create_table(
        "submission",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("file_name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "pending",
                "scored",
                "rejected",
                "failed",
                name="status",
                native_enum=False,
                create_constraint=True,
                length=16,
            ),
            nullable=False,
        ),
        sa.Column("submitted_at", TIME, nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        sa.Column("problems", JSON, nullable=False),
        sa.Column("notes", JSON, nullable=False),
        sa.Column("incident", sa.String(length=16), nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_submission_competition_id_competition")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_submission_team_id_team")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_submission_user_id_user_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submission")),
    )
    op.create_index("ix_submission_competition_id_status", "submission", ["competition_id", "status"])
    op.create_index("ix_submission_team_id_submitted_at", "submission", ["team_id", "submitted_at"])
    op.create_table(
        "team_member",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("joined_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_team_member_competition_id_competition")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_team_member_team_id_team")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_team_member_user_id_user_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_team_member")),
        sa.UniqueConstraint("competition_id", "user_id", name=op.f("uq_team_member_competition_id_user_id")),
    )
    op.create_index("ix_team_member_team_id", "team_member", ["team_id"])
    op.create_index("ix_team_member_user_id", "team_member", ["user_id"])
    op.create_table(
        "score",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("submission_id", sa.Integer(), nullable=False),
        sa.Column("scoring_version_id", sa.Integer(), nullable=False),
        sa.Column(
            "split",
            sa.Enum("public", "private", name="split", native_enum=False, create_constraint=True, length=16),
            nullable=False,
        ),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("overall_auc", sa.Double(), nullable=False),
        sa.Column("subgroup_auc", sa.Double(), nullable=False),
        sa.Column("bpsn_auc", sa.Double(), nullable=False),
        sa.Column("bnsp_auc", sa.Double(), nullable=False),
        sa.Column("counts", JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["scoring_version_id"],
            ["scoring_version.id"],
            name=op.f("fk_score_scoring_version_id_scoring_version"),
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submission.id"], name=op.f("fk_score_submission_id_submission")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_score")),
        sa.UniqueConstraint(
            "submission_id",
            "scoring_version_id",
            "split",
            name=op.f("uq_score_submission_id_scoring_version_id_split"),
        ),
    )
    op.create_table(
        "scoring_job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("submission_id", sa.Integer(), nullable=False),
        sa.Column("scoring_version_id", sa.Integer(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "waiting",
                "claimed",
                "done",
                "rejected",
                "failed",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=16,
            ),
            nullable=False,
        ),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("available_at", TIME, nullable=False),
        sa.Column("lease_until", TIME, nullable=True),
        sa.Column("token", sa.String(length=32), nullable=True),
        sa.Column("attempt_count", sa.Integer(), nullable=False),
        sa.Column("error_count", sa.Integer(), nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        sa.Column("problems", JSON, nullable=False),
        sa.Column("notes", JSON, nullable=False),
        sa.Column("incident", sa.String(length=16), nullable=True),
        sa.ForeignKeyConstraint(
            ["scoring_version_id"],
            ["scoring_version.id"],
            name=op.f("fk_scoring_job_scoring_version_id_scoring_version"),
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submission.id"], name=op.f("fk_scoring_job_submission_id_submission")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scoring_job")),
        sa.UniqueConstraint(
            "submission_id",
            "scoring_version_id",
            name=op.f("uq_scoring_job_submission_id_scoring_version_id"),
        ),
    )
    op.create_index("ix_scoring_job_scoring_version_id_state", "scoring_job", ["scoring_version_id", "state"])
    op.create_index("ix_scoring_job_state_available_at", "scoring_job", ["state", "available_at"])
    op.create_table(
        "standing",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("scoring_version_id", sa.Integer(), nullable=False),
        sa.Column(
            "split",
            sa.Enum("public", "private", name="split", native_enum=False, create_constraint=True, length=16),
            nullable=False,
        ),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("submission_id", sa.Integer(), nullable=False),
        sa.Column("score_units", sa.Integer(), nullable=False),
        sa.Column("submitted_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["scoring_version_id"],
            ["scoring_version.id"],
            name=op.f("fk_standing_scoring_version_id_scoring_version"),
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submission.id"], name=op.f("fk_standing_submission_id_submission")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_standing_team_id_team")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_standing")),
        sa.UniqueConstraint(
            "scoring_version_id",
            "split",
            "team_id",
            name=op.f("uq_standing_scoring_version_id_split_team_id"),
        ),
    )
    # The circle competition -> scoring_version -> competition is closed last where the database can.
    if op.get_bind().dialect.supports_alter:
        op.create_foreign_key(LIVE, "competition", "scoring_version", ["live_scoring_version_id"], ["id"])


def downgrade() -> None:
    """Remove them."""
    if op.get_bind().dialect.supports_alter:
        op.drop_constraint(LIVE, "competition", type_="foreignkey")
    op.drop_table("standing")
    op.drop_table("scoring_job")
    op.drop_table("score")
    op.drop_table("team_member")
    op.drop_table("submission")
    op.drop_table("scoring_version")
    op.drop_table("team")
    op.drop_table("solution")
    op.drop_table("login")
    op.drop_table("api_token")
    op.drop_table("user_account")
    op.drop_table("setup_link")
    op.drop_table("competition")
