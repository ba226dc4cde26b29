"""Account deletion: removed personal data, preserved standings."""

from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import func, select

from grader.models import AccountLink, ApiToken, LinkPurpose, Login, Mail, Submission, Team, TeamMember, User
from grader.services.identity import accounts, api_tokens, logins, one_time_links
from grader.services.leaderboards.board import board_of
from grader.services.site import outbox
from tests.fixtures.races import race
from tests.fixtures.refusals import is_refusal

pytestmark = pytest.mark.both_databases


def delete(service, name):
    user = service.user(name)
    service.act(accounts.delete_account, user=user, secret="s")
    with service.database.read() as session:
        return session.get_one(User, user.id)


def test_deleted_account_has_no_name_address_password_login_or_token(service):
    ada = service.user("Ada")
    with service.database.write() as session:
        person = session.get_one(User, ada.id)
        person.email = person.email_key = "ada@example.org"
        person.email_verified_at = service.now
        login = logins.start(session, user=ada, user_agent="", lifetime=timedelta(days=1), now=service.now)
        _, token = api_tokens.create(session, user=ada, name="Ada's laptop", now=service.now)
        one_time_links.create(session, purpose=LinkPurpose.RESET_PASSWORD, user=ada, now=service.now)
        notice = {"kind": outbox.Notice.SCORED, "key": "1", "subject": "S"}
        outbox.notify(session, [(person, "B")], now=service.now, **notice)
    gone = delete(service, "Ada")
    assert gone.name == f"deleted-{gone.id}"
    assert (gone.email, gone.email_key, gone.email_verified_at) == (None, None, None)
    with service.database.read() as session:
        assert logins.find(session, token=login, now=service.now) is None
        assert api_tokens.find(session, token=token, now=service.now) is None
        for table in (Login, ApiToken, AccountLink, Mail):
            assert session.scalar(select(func.count()).select_from(table)) == 0
        assert accounts.find(session, user_id=gone.id) is None


def test_standings_are_kept_under_a_neutral_name(service):
    competition = service.competition()
    first = service.submit(competition, user="Ada", skill=0.5)
    second = service.submit(competition, user="Bob", skill=0.1, seed=8)
    service.score(first, second)
    with service.database.read() as session:
        before = board_of(session, competition=service.reload(competition))
    gone = delete(service, "Ada")
    with service.database.read() as session:
        after = board_of(session, competition=service.reload(competition))
        submission = session.get_one(Submission, first.submission.id)
        assert submission.user_id == gone.id
        assert session.scalar(select(func.count()).select_from(TeamMember)) == 2
    assert [(row.rank, row.score) for row in after.rows] == [(row.rank, row.score) for row in before.rows]
    assert [row.team for row in after.rows] == [f"Team of {gone.name}", "Bob"]
    assert "Ada" not in str(after)


def test_name_of_a_deleted_account_can_be_used_again(service):
    competition = service.competition()
    service.score(service.submit(competition, user="Ada"))
    delete(service, "Ada")
    service.users.pop("Ada")
    service.score(service.submit(competition, user="Ada", seed=9))
    with service.database.read() as session:
        assert {team.name for team in session.scalars(select(Team))} >= {"Ada"}


def test_one_of_the_last_two_administrators_stays_if_both_delete_their_accounts(service):
    for name in ("root", "second"):
        service.user(name, is_admin=True)
    results = race(partial(delete, service, "root"), partial(delete, service, "second"))
    assert [is_refusal(each, "last_administrator") for each in results].count(True) == 1
