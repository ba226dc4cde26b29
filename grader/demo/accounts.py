"""Demo accounts and their API tokens: `python -m grader.demo.accounts ADMINISTRATOR NAME …`.

The `fairboard` commands would need two processes per account, each taking a second of CPU time.
"""

import json
import sys

from grader import db
from grader.services.accounts import accounts, api_tokens
from grader.services.people.names import UnknownUser, get_user
from grader.settings import load


def main(administrator: str, *names: str) -> None:
    """Print a JSON list of accounts, with name, token and, for new accounts, the password."""
    settings = load()
    passwords = accounts.password_hasher(settings)
    database = db.Database.of(settings, pool_size=1)
    made = []
    for name in names:
        password = None
        with database.write() as session:
            now = db.now(session)
            try:
                user = get_user(session, name=name)
            except UnknownUser:
                user, password = accounts.create_user(
                    session, name=name, passwords=passwords, is_admin=name == administrator, now=now
                )
            _, token = api_tokens.create(session, user=user, name="demo", now=now)
        made.append({"name": name, "password": password, "token": token})
    database.dispose()
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
