"""Suspended and deleted accounts: logins, tokens, returning persons, results of teams."""

from datetime import timedelta

import pytest
from pydantic import SecretStr
from sqlalchemy import select

from grader.models import AuditEntry, KeptIdentity, LinkPurpose, User
from grader.services.accounts import (
    accounts,
    api_tokens,
    email_addresses,
    logins,
    one_time_links,
    sign_ups,
    suspensions,
)
from grader.services.accounts.kept_identities import SuspendedPerson
from grader.services.accounts.one_time_links import InvalidLink
from grader.services.audit.log import Actor
from grader.services.leaderboards import leaderboard
from grader.worker.scheduled_tasks import forget_records
from tests.services.accounts.test_identities import CAMPUS, arrive
from tests.services.accounts.test_identities import sign_up as sign_up_at_campus

SECRET = "s" * 40
OPERATOR = Actor(None, "tests")


@pytest.fixture
def settings(make_settings):
    return make_settings(oidc_providers=SecretStr(CAMPUS), secret_key=SecretStr(SECRET))


def moderate(service, act, name: str, reason: str = "Shared accounts", actor: Actor = OPERATOR, **more):
    with service.database.read() as session:
        user = session.scalars(select(User).where(User.name == name)).one()
    return service.act(act, user=user, reason=reason, actor=actor, **more)


def suspend(service, name: str, **more):
    moderate(service, suspensions.suspend, name, secret=SECRET, **more)


def start(service, name: str) -> str:
    lifetime = timedelta(days=1)
    return service.act(logins.start, user=service.user(name), user_agent="", lifetime=lifetime)


def verify(service, name: str, address: str):
    token = service.act(
        one_time_links.create,
        purpose=LinkPurpose.VERIFY_EMAIL,
        user=service.user(name),
        address=address,
        created_by="tests",
        lifetime=timedelta(days=1),
    )
    service.act(email_addresses.verify, token=token, secret=SECRET)


def test_suspension_ends_sessions_tokens_and_links_until_the_account_is_reinstated(service):
    session_token = start(service, "ada")
    _, text = service.act(api_tokens.create, user=service.user("ada"), name="")
    link = service.act(logins.create_link, user=service.user("ada"), created_by="tests")
    suspend(service, "ada", reason="  Shared accounts ")
    with service.database.read() as session:
        assert logins.find(session, token=session_token, now=service.now) is None
        assert api_tokens.find(session, token=text, now=service.now) is None
        with pytest.raises(InvalidLink):
            logins.link_holder(session, token=link, now=service.now)
    with pytest.raises(logins.Suspended, match=r"suspended \(Shared accounts\)"):
        start(service, "ada")
    moderate(service, suspensions.reinstate, "ada", reason="")
    with service.database.read() as session:
        assert api_tokens.find(session, token=text, now=service.now) is None
        assert logins.find(session, token=session_token, now=service.now) is None
    start(service, "ada")


def test_session_or_token_added_during_a_suspension_is_not_valid(service):
    session_token = start(service, "ada")
    _, text = service.act(api_tokens.create, user=service.user("ada"), name="")
    with service.database.write() as session:
        session.get_one(User, service.user("ada").id).suspended_at = service.now
    with service.database.read() as session:
        assert logins.find_now(session, token=session_token) is None
        assert api_tokens.find_now(session, token=text) is None


def test_team_of_a_suspended_or_deleted_user_keeps_its_results(service):
    competition = service.competition()
    service.score(service.submit(competition, user="ada"))
    suspend(service, "ada")
    moderate(service, suspensions.remove, "ada", secret=SECRET)
    with service.database.read() as session:
        assert len(leaderboard.board_of(session, competition=competition, now=service.now).rows) == 1


@pytest.mark.parametrize("is_deleted", [False, True], ids=["suspended", "deleted"])
def test_suspended_person_cannot_return_with_the_same_identity_or_address(service, is_deleted):
    arrive(service, sub="17", email=None)
    sign_up_at_campus(service, "Mallory", subject="17")
    with service.database.read() as session:
        service.users["Mallory"] = session.scalars(select(User).where(User.name == "Mallory")).one()
    verify(service, "Mallory", "mallory@example.org")
    verify(service, "Mallory", "later@example.org")
    suspend(service, "Mallory")
    if is_deleted:
        moderate(service, suspensions.remove, "Mallory", secret=SECRET)
        forget_records(service.database)
        arrive(service, sub="17", email=None)
        with pytest.raises(SuspendedPerson):
            sign_up_at_campus(service, "Mallory2", subject="17")
    with pytest.raises(SuspendedPerson):
        verify(service, "bob", "Mallory@example.org")
    if is_deleted:
        with pytest.raises(SuspendedPerson):
            verify(service, "bob", "later@example.org")
    with service.database.read() as session:
        assert session.scalar(select(KeptIdentity.id).limit(1)) is not None


def test_deleted_person_who_was_not_suspended_can_return(service):
    verify(service, "ada", "ada@example.org")
    moderate(service, suspensions.remove, "ada", secret=SECRET)
    verify(service, "bob", "ada@example.org")
    with service.database.read() as session:
        assert email_addresses.owner(session, address="ada@example.org").name == "bob"


def test_audit_log_states_who_suspended_whom_and_why(service):
    root, _ = service.user("root", is_admin=True), service.user("ada")
    suspend(service, "ada", actor=Actor.of(root))
    moderate(service, suspensions.reinstate, "ada", reason="Explained")
    moderate(service, suspensions.remove, "ada", reason="On request", secret=SECRET)
    with service.database.read() as session:
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
    assert [(each.action, each.reason, each.actor_id) for each in entries] == [
        ("account.suspend", "Shared accounts", root.id),
        ("account.reinstate", "Explained", None),
        ("account.delete", "On request", None),
    ]
    assert {each.subject for each in entries} == {f"person [person {service.user('ada').id}]"}


@pytest.mark.parametrize("act", [suspensions.suspend, suspensions.remove])
def test_own_account_administrators_and_missing_reasons_are_rejected(service, act):
    root = service.user("root", is_admin=True)
    service.user("ada")
    with pytest.raises(suspensions.NotSuspendable, match="is an administrator"):
        moderate(service, act, "root", secret=SECRET)
    with pytest.raises(suspensions.NotSuspendable, match="your own account"):
        moderate(service, act, "root", actor=Actor.of(root), secret=SECRET)
    with pytest.raises(suspensions.ReasonMissing):
        moderate(service, act, "ada", reason=" \n", secret=SECRET)


def test_only_suspended_accounts_can_be_reinstated_and_only_others_suspended(service):
    service.user("ada")
    with pytest.raises(suspensions.NotSuspended, match="is not suspended"):
        moderate(service, suspensions.reinstate, "ada")
    suspend(service, "ada")
    with pytest.raises(suspensions.NotSuspended, match="already suspended"):
        suspend(service, "ada")


def test_sign_up_link_of_a_deleted_suspended_person_creates_no_account(service):
    verify(service, "ada", "ada@example.org")
    suspend(service, "ada")
    moderate(service, suspensions.remove, "ada", secret=SECRET)
    token = service.act(
        one_time_links.create,
        purpose=LinkPurpose.SIGN_UP,
        address="ada@example.org",
        created_by="tests",
        lifetime=timedelta(days=1),
    )
    with pytest.raises(SuspendedPerson):
        service.act(
            sign_ups.use,
            token=token,
            name="Ada again",
            password="a long enough passphrase",
            passwords=accounts.password_hasher(service.settings),
            secret=SECRET,
        )
