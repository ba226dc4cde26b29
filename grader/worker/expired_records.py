"""Delete expired records: counts, places of old logins, webhooks' logs, kept answers."""

from grader import db
from grader.db import Database
from grader.services import counting, repeatable_requests
from grader.services.accounts import login_addresses
from grader.services.webhooks import outbox as webhooks

INTERVAL_SECONDS = 600
OWNERS = (counting, login_addresses, webhooks, repeatable_requests)


class Forgetting:
    """Deletes what is too old. Several may run at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def step(self) -> bool:
        """Delete some expired records; return whether there may be more."""
        with self._database.read() as session:
            now = db.now(session)
            is_due = any(each.has_old(session, now=now) for each in OWNERS)
        if is_due:
            with self._database.write() as session:
                for each in OWNERS:
                    each.forget_old(session, now=now)
        return is_due
