"""One-time links that log in."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

BEFORE = ("verify_email", "reset_password", "sign_up")


def upgrade() -> None:
    """Allow the purpose."""
    _allow((*BEFORE, "log_in"))


def downgrade() -> None:
    """Delete the links and forbid the purpose."""
    op.execute("DELETE FROM account_link WHERE purpose = 'log_in'")
    _allow(BEFORE)


def _allow(purposes: tuple[str, ...]) -> None:
    with op.batch_alter_table("account_link") as batch_op:
        batch_op.drop_constraint(op.f("ck_account_link_purpose"), type_="check")
        batch_op.create_check_constraint(op.f("ck_account_link_purpose"), sa.column("purpose").in_(purposes))
