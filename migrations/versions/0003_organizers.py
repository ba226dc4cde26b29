"""Organizers: roles, audit, jobs, texts, grants, disputes, announcements and data files."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Add the tables and columns."""
    op.create_table(
        "announcement",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("posted_at", TIME, nullable=False),
        sa.Column("withdrawn_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_announcement_competition_id_competition")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_announcement")),
    )
    with op.batch_alter_table("announcement") as batch_op:
        batch_op.create_index(batch_op.f("ix_announcement_competition_id"), ["competition_id"], unique=False)

    op.create_table(
        "audit_entry",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=True),
        sa.Column("at", TIME, nullable=False),
        sa.Column("actor_id", sa.Integer(), nullable=True),
        sa.Column("origin", sa.String(length=64), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("before", JSON, nullable=False),
        sa.Column("after", JSON, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("is_public", sa.Boolean(), nullable=False),
        sa.Column("public_text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["actor_id"], ["user_account.id"], name=op.f("fk_audit_entry_actor_id_user_account")
        ),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_audit_entry_competition_id_competition")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entry")),
    )
    with op.batch_alter_table("audit_entry") as batch_op:
        batch_op.create_index("ix_audit_entry_competition_id_id", ["competition_id", "id"], unique=False)

    op.create_table(
        "data_file",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("uploaded_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_data_file_competition_id_competition")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_data_file")),
        sa.UniqueConstraint("competition_id", "name", name=op.f("uq_data_file_competition_id_name")),
    )
    op.create_table(
        "organizer",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column(
            "role",
            sa.Enum(
                "owner", "editor", "viewer", name="role", native_enum=False, create_constraint=True, length=16
            ),
            nullable=False,
        ),
        sa.Column("added_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_organizer_competition_id_competition")
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_organizer_user_id_user_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organizer")),
        sa.UniqueConstraint("competition_id", "user_id", name=op.f("uq_organizer_competition_id_user_id")),
    )
    with op.batch_alter_table("organizer") as batch_op:
        batch_op.create_index(batch_op.f("ix_organizer_user_id"), ["user_id"], unique=False)

    op.create_table(
        "organizer_job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column(
            "kind",
            sa.Enum(
                "check",
                "verify",
                "bundle",
                "settings",
                "diagnose",
                "ties",
                name="kind",
                native_enum=False,
                create_constraint=True,
                length=16,
            ),
            nullable=False,
        ),
        sa.Column("parameters", JSON, nullable=False),
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
        sa.Column("created_by_id", sa.Integer(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("available_at", TIME, nullable=False),
        sa.Column("lease_until", TIME, nullable=True),
        sa.Column("token", sa.String(length=32), nullable=True),
        sa.Column("attempt_count", sa.Integer(), nullable=False),
        sa.Column("error_count", sa.Integer(), nullable=False),
        sa.Column("progress", JSON, nullable=False),
        sa.Column("result", JSON, nullable=False),
        sa.Column("problems", JSON, nullable=False),
        sa.Column("incident", sa.String(length=16), nullable=True),
        sa.Column("finished_at", TIME, nullable=True),
        sa.Column("dismissed_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_organizer_job_competition_id_competition")
        ),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["user_account.id"], name=op.f("fk_organizer_job_created_by_id_user_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organizer_job")),
    )
    with op.batch_alter_table("organizer_job") as batch_op:
        batch_op.create_index(
            "ix_organizer_job_competition_id_kind", ["competition_id", "kind"], unique=False
        )
        batch_op.create_index("ix_organizer_job_state_available_at", ["state", "available_at"], unique=False)

    op.create_table(
        "submission_grant",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=True),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("granted_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["competition_id"],
            ["competition.id"],
            name=op.f("fk_submission_grant_competition_id_competition"),
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_submission_grant_team_id_team")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submission_grant")),
    )
    with op.batch_alter_table("submission_grant") as batch_op:
        batch_op.create_index(
            "ix_submission_grant_competition_id_team_id", ["competition_id", "team_id"], unique=False
        )

    op.create_table(
        "dispute",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column("submission_id", sa.Integer(), nullable=False),
        sa.Column("asked_by_id", sa.Integer(), nullable=False),
        sa.Column("asked_at", TIME, nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), server_default="", nullable=False),
        sa.Column("answered_by_id", sa.Integer(), nullable=True),
        sa.Column("answered_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["answered_by_id"], ["user_account.id"], name=op.f("fk_dispute_answered_by_id_user_account")
        ),
        sa.ForeignKeyConstraint(
            ["asked_by_id"], ["user_account.id"], name=op.f("fk_dispute_asked_by_id_user_account")
        ),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_dispute_competition_id_competition")
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submission.id"], name=op.f("fk_dispute_submission_id_submission")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dispute")),
    )
    with op.batch_alter_table("dispute") as batch_op:
        batch_op.create_index(
            "ix_dispute_competition_id_answered_at", ["competition_id", "answered_at"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_dispute_submission_id"), ["submission_id"], unique=False)

    with op.batch_alter_table("competition") as batch_op:
        batch_op.add_column(sa.Column("evaluation", sa.Text(), server_default="", nullable=False))
        batch_op.add_column(sa.Column("data_description", sa.Text(), server_default="", nullable=False))
        batch_op.add_column(
            sa.Column("positive_name", sa.String(length=64), server_default="positive", nullable=False)
        )
        batch_op.add_column(
            sa.Column("negative_name", sa.String(length=64), server_default="negative", nullable=False)
        )
        batch_op.add_column(sa.Column("contact", sa.String(length=500), server_default="", nullable=False))
        batch_op.add_column(
            sa.Column("discussion_url", sa.String(length=500), server_default="", nullable=False)
        )
        batch_op.add_column(
            sa.Column(
                "feedback",
                sa.Enum(
                    "open",
                    "terms",
                    "score",
                    name="feedback",
                    native_enum=False,
                    create_constraint=True,
                    length=16,
                ),
                server_default="open",
                nullable=False,
            )
        )
        batch_op.add_column(sa.Column("draft_metric", JSON, nullable=True))
        batch_op.add_column(
            sa.Column(
                "reveal_rule",
                sa.Enum(
                    "date",
                    "organizer",
                    name="reveal_rule",
                    native_enum=False,
                    create_constraint=True,
                    length=16,
                ),
                server_default="date",
                nullable=False,
            )
        )
        batch_op.add_column(sa.Column("selection_deadline", TIME, nullable=True))
        batch_op.add_column(sa.Column("paused_at", TIME, nullable=True))
        batch_op.add_column(sa.Column("pause_message", sa.Text(), server_default="", nullable=False))
        batch_op.add_column(sa.Column("solution_published_at", TIME, nullable=True))

    with op.batch_alter_table("scoring_version") as batch_op:
        batch_op.add_column(sa.Column("notice", sa.Text(), server_default="", nullable=False))
        batch_op.add_column(sa.Column("replaced_number", sa.Integer(), nullable=True))

    with op.batch_alter_table("solution") as batch_op:
        batch_op.add_column(sa.Column("digest", sa.String(length=64), nullable=True))

    with op.batch_alter_table("team") as batch_op:
        batch_op.add_column(
            sa.Column("is_organizers", sa.Boolean(), server_default=sa.false(), nullable=False)
        )
    _refuse_changes_of_the_audit()


def _refuse_changes_of_the_audit() -> None:
    """What was done stays written: the database itself refuses to change or delete an entry."""
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
    """Take the tables and columns away again."""
    with op.batch_alter_table("competition") as batch_op:
        batch_op.drop_constraint(op.f("ck_competition_feedback"), type_="check")
        batch_op.drop_constraint(op.f("ck_competition_reveal_rule"), type_="check")
    with op.batch_alter_table("team") as batch_op:
        batch_op.drop_column("is_organizers")

    with op.batch_alter_table("solution") as batch_op:
        batch_op.drop_column("digest")

    with op.batch_alter_table("scoring_version") as batch_op:
        batch_op.drop_column("replaced_number")
        batch_op.drop_column("notice")

    with op.batch_alter_table("competition") as batch_op:
        batch_op.drop_column("solution_published_at")
        batch_op.drop_column("pause_message")
        batch_op.drop_column("paused_at")
        batch_op.drop_column("selection_deadline")
        batch_op.drop_column("reveal_rule")
        batch_op.drop_column("draft_metric")
        batch_op.drop_column("feedback")
        batch_op.drop_column("discussion_url")
        batch_op.drop_column("contact")
        batch_op.drop_column("negative_name")
        batch_op.drop_column("positive_name")
        batch_op.drop_column("data_description")
        batch_op.drop_column("evaluation")

    with op.batch_alter_table("dispute") as batch_op:
        batch_op.drop_index(batch_op.f("ix_dispute_submission_id"))
        batch_op.drop_index("ix_dispute_competition_id_answered_at")

    op.drop_table("dispute")
    with op.batch_alter_table("submission_grant") as batch_op:
        batch_op.drop_index("ix_submission_grant_competition_id_team_id")

    op.drop_table("submission_grant")
    with op.batch_alter_table("organizer_job") as batch_op:
        batch_op.drop_index("ix_organizer_job_state_available_at")
        batch_op.drop_index("ix_organizer_job_competition_id_kind")

    op.drop_table("organizer_job")
    with op.batch_alter_table("organizer") as batch_op:
        batch_op.drop_index(batch_op.f("ix_organizer_user_id"))

    op.drop_table("organizer")
    op.drop_table("data_file")
    with op.batch_alter_table("audit_entry") as batch_op:
        batch_op.drop_index("ix_audit_entry_competition_id_id")

    op.drop_table("audit_entry")
    with op.batch_alter_table("announcement") as batch_op:
        batch_op.drop_index(batch_op.f("ix_announcement_competition_id"))

    op.drop_table("announcement")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION refuse_change_of_audit()")
