"""Delete expired records: counts of wrong passwords and of mails, IP addresses of old logins."""

from grader import db
from grader.db import Database
from grader.services.accounts import known_addresses
from grader.services.counting import counters

INTERVAL_SECONDS = 600


class Forgetting:
    """Deletes what is too old. Several may run at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def step(self) -> bool:
        """Delete some expired records; return whether there may be more."""
        with self._database.read() as session:
            now = db.now(session)
            is_due = counters.has_old(session, now=now) or known_addresses.has_old(session, now=now)
        if is_due:
            with self._database.write() as session:
                counters.forget_old(session, now=now)
                known_addresses.forget_old(session, now=now)
        return is_due
