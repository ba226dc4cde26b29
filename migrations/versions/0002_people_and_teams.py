"""People and teams, limits, selections and the end of a competition."""

import sqlalchemy as sa
from alembic import op

from migrations.frozen import name_keys_of_0002

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the tables and columns; those who take part already have joined, the first of a team leads it."""
    op.create_table(
        "account_link",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column(
            "purpose",
            sa.Enum(
                "verify_email",
                "reset_password",
                "sign_up",
                name="purpose",
                native_enum=False,
                create_constraint=True,
                length=16,
            ),
            nullable=False,
        ),
        sa.Column("token_sha256", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("email", sa.String(length=254), nullable=True),
        sa.Column("created_by", sa.String(length=256), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("used_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_account_link_user_id_user_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_account_link")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_account_link_token_sha256")),
    )
    with op.batch_alter_table("account_link") as batch_op:
        batch_op.create_index(batch_op.f("ix_account_link_user_id"), ["user_id"], unique=False)

    op.create_table(
        "mail",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=128), nullable=True),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("to_address", sa.String(length=254), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("available_at", TIME, nullable=False),
        sa.Column("attempt_count", sa.Integer(), nullable=False),
        sa.Column("sent_at", TIME, nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_mail_user_id_user_account")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mail")),
        sa.UniqueConstraint("key", name=op.f("uq_mail_key")),
    )
    with op.batch_alter_table("mail") as batch_op:
        batch_op.create_index("ix_mail_sent_at_available_at", ["sent_at", "available_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_mail_user_id"), ["user_id"], unique=False)

    op.create_table(
        "merge_request",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("from_team_id", sa.Integer(), nullable=False),
        sa.Column("to_team_id", sa.Integer(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "open",
                "accepted",
                "refused",
                "withdrawn",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=16,
            ),
            nullable=False,
        ),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("decided_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["from_team_id"], ["team.id"], name=op.f("fk_merge_request_from_team_id_team")
        ),
        sa.ForeignKeyConstraint(["to_team_id"], ["team.id"], name=op.f("fk_merge_request_to_team_id_team")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_merge_request")),
    )
    with op.batch_alter_table("merge_request") as batch_op:
        batch_op.create_index(batch_op.f("ix_merge_request_from_team_id"), ["from_team_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_merge_request_to_team_id"), ["to_team_id"], unique=False)

    op.create_table(
        "participation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "open",
                "accepted",
                "refused",
                "withdrawn",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=16,
            ),
            nullable=False,
        ),
        sa.Column("rules_version", sa.Integer(), nullable=False),
        sa.Column("requested_at", TIME, nullable=False),
        sa.Column("joined_at", TIME, nullable=True),
        sa.Column("bound_team_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["bound_team_id"], ["team.id"], name=op.f("fk_participation_bound_team_id_team")
        ),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_participation_competition_id_competition")
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_participation_user_id_user_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_participation")),
        sa.UniqueConstraint(
            "competition_id", "user_id", name=op.f("uq_participation_competition_id_user_id")
        ),
    )
    with op.batch_alter_table("participation") as batch_op:
        batch_op.create_index(batch_op.f("ix_participation_user_id"), ["user_id"], unique=False)

    op.create_table(
        "team_invite",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("token_sha256", sa.String(length=64), nullable=True),
        sa.Column("created_by_id", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["user_account.id"], name=op.f("fk_team_invite_created_by_id_user_account")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_team_invite_team_id_team")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_team_invite_user_id_user_account")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_team_invite")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_team_invite_token_sha256")),
    )
    with op.batch_alter_table("team_invite") as batch_op:
        batch_op.create_index(batch_op.f("ix_team_invite_team_id"), ["team_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_team_invite_user_id"), ["user_id"], unique=False)

    op.create_table(
        "daily_rank",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("scoring_version_id", sa.Integer(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["scoring_version_id"],
            ["scoring_version.id"],
            name=op.f("fk_daily_rank_scoring_version_id_scoring_version"),
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_daily_rank_team_id_team")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_daily_rank")),
        sa.UniqueConstraint(
            "scoring_version_id", "day", "team_id", name=op.f("uq_daily_rank_scoring_version_id_day_team_id")
        ),
    )
    op.create_table(
        "final_board",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("scoring_version_id", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competition.id"], name=op.f("fk_final_board_competition_id_competition")
        ),
        sa.ForeignKeyConstraint(
            ["scoring_version_id"],
            ["scoring_version.id"],
            name=op.f("fk_final_board_scoring_version_id_scoring_version"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_final_board")),
        sa.UniqueConstraint("competition_id", "number", name=op.f("uq_final_board_competition_id_number")),
    )
    op.create_table(
        "final_standing",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("board_id", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("public_rank", sa.Integer(), nullable=True),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("team_name", sa.String(length=256), nullable=False),
        sa.Column("submission_id", sa.Integer(), nullable=False),
        sa.Column("score_units", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["board_id"], ["final_board.id"], name=op.f("fk_final_standing_board_id_final_board")
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submission.id"], name=op.f("fk_final_standing_submission_id_submission")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_final_standing_team_id_team")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_final_standing")),
        sa.UniqueConstraint("board_id", "rank", name=op.f("uq_final_standing_board_id_rank")),
    )
    with op.batch_alter_table("api_token") as batch_op:
        batch_op.add_column(
            sa.Column("scopes", sa.JSON(), server_default='["read", "submit"]', nullable=False)
        )
        batch_op.add_column(sa.Column("expires_at", TIME, nullable=True))

    with op.batch_alter_table("competition") as batch_op:
        batch_op.add_column(sa.Column("rules", sa.Text(), server_default="", nullable=False))
        batch_op.add_column(sa.Column("rules_version", sa.Integer(), server_default="1", nullable=False))
        batch_op.add_column(
            sa.Column(
                "entry_mode",
                sa.Enum(
                    "open",
                    "code",
                    "approval",
                    name="entry_mode",
                    native_enum=False,
                    create_constraint=True,
                    length=16,
                ),
                server_default="open",
                nullable=False,
            )
        )
        batch_op.add_column(sa.Column("entry_code", sa.String(length=64), nullable=True))
        batch_op.add_column(sa.Column("entry_deadline", TIME, nullable=True))
        batch_op.add_column(sa.Column("merger_deadline", TIME, nullable=True))
        batch_op.add_column(sa.Column("max_team_size", sa.Integer(), server_default="5", nullable=False))
        batch_op.add_column(
            sa.Column("max_daily_submissions", sa.Integer(), server_default="5", nullable=True)
        )
        batch_op.add_column(sa.Column("max_total_submissions", sa.Integer(), nullable=True))
        batch_op.add_column(
            sa.Column("max_pending_submissions", sa.Integer(), server_default="5", nullable=False)
        )
        batch_op.add_column(
            sa.Column("max_hourly_rejections", sa.Integer(), server_default="30", nullable=False)
        )
        batch_op.add_column(sa.Column("selection_count", sa.Integer(), server_default="2", nullable=False))
        batch_op.add_column(
            sa.Column("takes_late_submissions", sa.Boolean(), server_default=sa.true(), nullable=False)
        )
        batch_op.add_column(sa.Column("reveals_at", TIME, nullable=True))
        batch_op.add_column(sa.Column("settled_at", TIME, nullable=True))
        batch_op.add_column(sa.Column("finalized_at", TIME, nullable=True))

    op.create_index(
        "ix_standing_board",
        "standing",
        ["scoring_version_id", "split", sa.text("score_units DESC"), "submitted_at", "submission_id"],
    )

    with op.batch_alter_table("submission") as batch_op:
        batch_op.add_column(
            sa.Column(
                "kind",
                sa.Enum(
                    "normal",
                    "late",
                    "benchmark",
                    "hidden",
                    name="kind",
                    native_enum=False,
                    create_constraint=True,
                    length=16,
                ),
                server_default="normal",
                nullable=False,
            )
        )
        batch_op.add_column(sa.Column("is_selected", sa.Boolean(), server_default=sa.false(), nullable=False))
        batch_op.add_column(sa.Column("slot_day", sa.Date(), nullable=True))
        batch_op.add_column(sa.Column("idempotency_key", sa.String(length=128), nullable=True))
        batch_op.create_index("ix_submission_competition_id_kind", ["competition_id", "kind"], unique=False)
        batch_op.create_index("ix_submission_team_id_slot_day", ["team_id", "slot_day"], unique=False)
        batch_op.create_unique_constraint(
            batch_op.f("uq_submission_team_id_idempotency_key"), ["team_id", "idempotency_key"]
        )

    with op.batch_alter_table("team") as batch_op:
        batch_op.alter_column("name", existing_type=sa.String(64), type_=sa.String(256))
        batch_op.add_column(sa.Column("leader_id", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("merged_into_id", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("disqualified_at", TIME, nullable=True))
        batch_op.add_column(
            sa.Column("disqualification_reason", sa.Text(), server_default="", nullable=False)
        )
        batch_op.create_foreign_key(
            batch_op.f("fk_team_leader_id_user_account"), "user_account", ["leader_id"], ["id"]
        )
        batch_op.create_foreign_key(
            batch_op.f("fk_team_merged_into_id_team"), "team", ["merged_into_id"], ["id"]
        )

    with op.batch_alter_table("user_account") as batch_op:
        batch_op.alter_column("name", existing_type=sa.String(64), type_=sa.String(256))
        batch_op.add_column(sa.Column("name_folded", sa.String(length=256), nullable=True))
        batch_op.add_column(sa.Column("email", sa.String(length=254), nullable=True))
        batch_op.add_column(sa.Column("email_key", sa.String(length=254), nullable=True))
        batch_op.add_column(sa.Column("email_verified_at", TIME, nullable=True))
        batch_op.add_column(sa.Column("about", sa.Text(), server_default="", nullable=False))
        batch_op.add_column(sa.Column("unwanted_notices", sa.JSON(), server_default="[]", nullable=False))
        batch_op.add_column(sa.Column("deleted_at", TIME, nullable=True))
        batch_op.create_unique_constraint(batch_op.f("uq_user_account_email_key"), ["email_key"])

    _fill()
    _fill_name_keys()
    with op.batch_alter_table("user_account") as batch_op:
        batch_op.alter_column("name_folded", existing_type=sa.String(256), nullable=False)
        batch_op.create_unique_constraint(batch_op.f("uq_user_account_name_folded"), ["name_folded"])


def _fill_name_keys() -> None:
    """Let keys tell look-alikes too; of names that are there already, a later one keeps a key of its own."""
    op.execute("UPDATE user_account SET name_folded = name_key")
    for table, scope in (("user_account", sa.literal(0)), ("team", sa.column("competition_id"))):
        name_key = sa.table(table, sa.column("id"), sa.column("name"), sa.column("name_key"))
        rows = op.get_bind().execute(
            sa.select(name_key.c.id, name_key.c.name, scope).select_from(name_key).order_by(name_key.c.id)
        )
        keys: dict[tuple[int, str], int] = {}
        for row_id, name, within in rows.all():
            key = name_keys_of_0002.name_key(name)
            keys[(within, key if (within, key) not in keys else f"{key[:240]}\x1f{row_id}")] = row_id
        # Two steps, for a new key may be the old key of a row that comes later.
        op.execute(name_key.update().values(name_key="\x1f" + sa.cast(name_key.c.id, sa.String)))
        for (_, key), row_id in keys.items():
            op.execute(name_key.update().where(name_key.c.id == row_id).values(name_key=key))


def _fill() -> None:
    op.execute(
        "INSERT INTO participation (competition_id, user_id, state, rules_version, requested_at, joined_at, "
        "bound_team_id) SELECT competition_id, user_id, 'accepted', 1, joined_at, joined_at, team_id "
        "FROM team_member"
    )
    op.execute(
        "UPDATE team SET leader_id = (SELECT user_id FROM team_member WHERE team_member.team_id = team.id "
        "ORDER BY joined_at, id LIMIT 1)"
    )
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    day = "(submitted_at AT TIME ZONE 'UTC')::date" if is_postgresql else "date(submitted_at)"
    op.execute(f"UPDATE submission SET slot_day = {day} WHERE status IN ('pending', 'scored')")  # noqa: S608
    # What runs already gets no limit and no late files that nobody announced, and is not revealed at once.
    op.execute("UPDATE competition SET max_daily_submissions = NULL, takes_late_submissions = false")
    week_later = (
        "greatest(closes_at, now()) + interval '7 days'"
        if is_postgresql
        else "datetime(max(closes_at, datetime('now')), '+7 days')"
    )
    op.execute(
        f"UPDATE competition SET reveals_at = {week_later} "  # noqa: S608
        "WHERE revealed_at IS NULL AND closes_at IS NOT NULL"
    )
    op.execute("UPDATE competition SET settled_at = revealed_at")


def downgrade() -> None:
    """Take the tables and columns away again."""
    op.execute("UPDATE user_account SET name_key = name_folded")
    with op.batch_alter_table("user_account") as batch_op:
        batch_op.drop_constraint(batch_op.f("uq_user_account_name_folded"), type_="unique")
        batch_op.drop_column("name_folded")
        batch_op.alter_column(
            "name", existing_type=sa.String(256), type_=sa.String(64), postgresql_using="left(name, 64)"
        )
        batch_op.drop_constraint(batch_op.f("uq_user_account_email_key"), type_="unique")
        batch_op.drop_column("deleted_at")
        batch_op.drop_column("unwanted_notices")
        batch_op.drop_column("about")
        batch_op.drop_column("email_verified_at")
        batch_op.drop_column("email_key")
        batch_op.drop_column("email")

    with op.batch_alter_table("team") as batch_op:
        batch_op.drop_constraint(batch_op.f("fk_team_merged_into_id_team"), type_="foreignkey")
        batch_op.drop_constraint(batch_op.f("fk_team_leader_id_user_account"), type_="foreignkey")
        batch_op.drop_column("disqualification_reason")
        batch_op.drop_column("disqualified_at")
        batch_op.drop_column("merged_into_id")
        batch_op.drop_column("leader_id")
        batch_op.alter_column(
            "name", existing_type=sa.String(256), type_=sa.String(64), postgresql_using="left(name, 64)"
        )

    with op.batch_alter_table("submission") as batch_op:
        batch_op.drop_constraint(op.f("ck_submission_kind"), type_="check")
        batch_op.drop_constraint(batch_op.f("uq_submission_team_id_idempotency_key"), type_="unique")
        batch_op.drop_index("ix_submission_team_id_slot_day")
        batch_op.drop_index("ix_submission_competition_id_kind")
        batch_op.drop_column("idempotency_key")
        batch_op.drop_column("slot_day")
        batch_op.drop_column("is_selected")
        batch_op.drop_column("kind")

    op.drop_index("ix_standing_board", "standing")
    with op.batch_alter_table("competition") as batch_op:
        batch_op.drop_constraint(op.f("ck_competition_entry_mode"), type_="check")
        batch_op.drop_column("finalized_at")
        batch_op.drop_column("settled_at")
        batch_op.drop_column("reveals_at")
        batch_op.drop_column("takes_late_submissions")
        batch_op.drop_column("selection_count")
        batch_op.drop_column("max_hourly_rejections")
        batch_op.drop_column("max_pending_submissions")
        batch_op.drop_column("max_total_submissions")
        batch_op.drop_column("max_daily_submissions")
        batch_op.drop_column("max_team_size")
        batch_op.drop_column("merger_deadline")
        batch_op.drop_column("entry_deadline")
        batch_op.drop_column("entry_code")
        batch_op.drop_column("entry_mode")
        batch_op.drop_column("rules_version")
        batch_op.drop_column("rules")

    with op.batch_alter_table("api_token") as batch_op:
        batch_op.drop_column("expires_at")
        batch_op.drop_column("scopes")

    op.drop_table("final_standing")
    op.drop_table("final_board")
    op.drop_table("daily_rank")
    with op.batch_alter_table("team_invite") as batch_op:
        batch_op.drop_index(batch_op.f("ix_team_invite_user_id"))
        batch_op.drop_index(batch_op.f("ix_team_invite_team_id"))

    op.drop_table("team_invite")
    with op.batch_alter_table("participation") as batch_op:
        batch_op.drop_index(batch_op.f("ix_participation_user_id"))

    op.drop_table("participation")
    with op.batch_alter_table("merge_request") as batch_op:
        batch_op.drop_index(batch_op.f("ix_merge_request_to_team_id"))
        batch_op.drop_index(batch_op.f("ix_merge_request_from_team_id"))

    op.drop_table("merge_request")
    with op.batch_alter_table("mail") as batch_op:
        batch_op.drop_index(batch_op.f("ix_mail_user_id"))
        batch_op.drop_index("ix_mail_sent_at_available_at")

    op.drop_table("mail")
    with op.batch_alter_table("account_link") as batch_op:
        batch_op.drop_index(batch_op.f("ix_account_link_user_id"))

    op.drop_table("account_link")
