"""Suspended and deleted accounts: logins, tokens, returning persons, results of teams."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from time import sleep

import pytest
from pydantic import SecretStr
from sqlalchemy import select

from grader.models import KeptIdentity, LinkPurpose, Team, User
from grader.services.competitions import lookup
from grader.services.identity import (
    accounts,
    administrators,
    api_tokens,
    email_addresses,
    logins,
    one_time_links,
    suspensions,
)
from grader.services.site.log import Actor
from grader.services.submissions import uploads
from grader.services.teams import invitations, teams
from grader.worker.scheduled_tasks import forget_records
from tests.fixtures.refusals import refused
from tests.services.identity.test_identities import CAMPUS, arrive
from tests.services.identity.test_identities import sign_up as sign_up_at_campus

SECRET = "s" * 40
LIBRARY = CAMPUS.replace("campus", "library").replace("id.example", "library.example")
OPERATOR = Actor(None, "tests")


@pytest.fixture
def settings(make_settings):
    return make_settings(oidc_providers=SecretStr(f"{CAMPUS}\n{LIBRARY}"), secret_key=SecretStr(SECRET))


def moderate(service, act, name, reason="Shared accounts", actor=OPERATOR, **more):
    with service.database.read() as session:
        user = session.scalars(select(User).where(User.name == name)).one()
    return service.act(act, user=user, reason=reason, actor=actor, **more)


def suspend(service, name, **more):
    moderate(service, suspensions.suspend, name, secret=SECRET, **more)


def start(service, name):
    lifetime = timedelta(days=1)
    return service.act(logins.start, user=service.user(name), user_agent="", lifetime=lifetime)


def verify(service, name, address):
    token = service.act(
        one_time_links.create,
        purpose=LinkPurpose.VERIFY_EMAIL,
        user=service.user(name),
        address=address,
    )
    service.act(email_addresses.verify, token=token, secret=SECRET)


def test_suspension_ends_sessions_tokens_and_links_until_the_account_is_reinstated(service):
    competition = service.competition()
    session_token = start(service, "ada")
    _, text = service.act(api_tokens.create, user=service.user("ada"), name="")
    link = service.act(one_time_links.create, purpose=LinkPurpose.LOG_IN, user=service.user("ada"))
    upload, _ = service.act(
        uploads.announce, user=service.user("ada"), competition=competition, name="a.csv", size_bytes=1
    )
    suspend(service, "ada", reason="  Shared accounts ")
    with service.database.read() as session:
        assert logins.find(session, token=session_token, now=service.now) is None
        assert api_tokens.find(session, token=text, now=service.now) is None
        with refused("invalid_link"):
            one_time_links.holder(session, purpose=LinkPurpose.LOG_IN, token=link, now=service.now)
        with pytest.raises(uploads.UnknownUpload):
            uploads.find(session, token=upload, now=service.now)
    with refused("suspended", match=r"suspended \(Shared accounts\)"):
        start(service, "ada")
    moderate(service, suspensions.reinstate, "ada", reason="")
    with service.database.read() as session:
        assert api_tokens.find(session, token=text, now=service.now) is None
        assert logins.find(session, token=session_token, now=service.now) is None
    start(service, "ada")


def test_session_or_token_added_during_a_suspension_is_not_valid(service):
    session_token = start(service, "ada")
    _, text = service.act(api_tokens.create, user=service.user("ada"), name="")
    for is_valid in (True, False):
        with service.database.read() as session:
            assert (logins.find(session, token=session_token, now=service.now) is not None) is is_valid
            assert (api_tokens.find(session, token=text) is not None) is is_valid
        with service.database.write() as session:
            session.get_one(User, service.user("ada").id).suspended_at = service.now


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
        with refused("suspended_person"):
            sign_up_at_campus(service, "Mallory2", subject="17")
    with refused("suspended_person"):
        verify(service, "bob", "Mallory@example.org")
    if is_deleted:
        with refused("suspended_person"):
            verify(service, "bob", "later@example.org")
    with service.database.read() as session:
        assert session.scalar(select(KeptIdentity.id).limit(1)) is not None


def test_deleted_person_who_was_not_suspended_can_return(service):
    verify(service, "ada", "ada@example.org")
    moderate(service, suspensions.remove, "ada", secret=SECRET)
    verify(service, "bob", "ada@example.org")
    with service.database.read() as session:
        assert email_addresses.owner(session, address="ada@example.org").name == "bob"


@pytest.mark.parametrize("act", [suspensions.suspend, suspensions.remove])
def test_own_account_administrators_and_missing_reasons_are_rejected(service, act):
    root = service.user("root", is_admin=True)
    service.user("ada")
    with refused("not_suspendable", match="is an administrator"):
        moderate(service, act, "root", secret=SECRET)
    with refused("not_suspendable", match="your own account"):
        moderate(service, act, "root", actor=Actor.of(root), secret=SECRET)
    with refused("reason_missing"):
        moderate(service, act, "ada", reason=" \n", secret=SECRET)


def test_only_suspended_accounts_can_be_reinstated_and_only_others_suspended(service):
    service.user("ada")
    with refused("not_suspended", match="is not suspended"):
        moderate(service, suspensions.reinstate, "ada")
    suspend(service, "ada")
    with refused("not_suspended", match="already suspended"):
        suspend(service, "ada")


def test_suspended_user_cannot_become_an_administrator(service):
    root, ada = service.user("root", is_admin=True), service.user("ada")
    suspend(service, "ada")
    with refused("not_suspendable", match="Reinstate the account first"):
        service.act(administrators.change, user=ada, is_admin=True, actor=OPERATOR)
    with refused("last_administrator"):
        service.act(accounts.delete_account, user=root, secret=SECRET)


def test_another_member_leads_the_team_of_a_suspended_leader(service, act):
    competition = service.competition(max_team_size=3)
    act(teams.create, competition, "ada", name="Duo")
    for place, name in enumerate(("bob", "cleo"), 1):
        token = act(invitations.make_link, competition, "ada")
        act(invitations.accept_link, competition, name, token=token, after=timedelta(seconds=place))
    for name, leader in (("bob", "ada"), ("ada", "cleo"), ("cleo", "ada")):
        suspend(service, name)
        with service.database.read() as session:
            assert session.scalars(select(Team.leader_id)).one() == service.user(leader).id


@pytest.mark.both_databases
@pytest.mark.parametrize("act", [suspensions.suspend, suspensions.remove])
def test_action_of_the_person_in_the_meantime_is_no_deadlock(service, act):
    competition = service.competition()
    service.submit(competition, user="ada")
    hashed = KeptIdentity(user_id=service.user("ada").id, identity_hash="x")
    with ThreadPoolExecutor(1) as pool:
        with service.database.write() as session:
            lookup.lock(session, competition_id=competition.id)
            ending = pool.submit(moderate, service, act, "ada", secret=SECRET)
            sleep(0.3)  # On PostgreSQL, it has then locked the account and waits for the competition.
            session.add(hashed)
            session.flush()
        ending.result()


def test_account_that_another_administrator_has_just_deleted_does_not_change(service):
    ada = service.user("ada")
    suspend(service, "ada")
    moderate(service, suspensions.remove, "ada", secret=SECRET)
    for act, more in ((suspensions.reinstate, {}), (suspensions.remove, {"secret": SECRET})):
        with refused("not_suspended", match="deleted in the meantime"):
            service.act(act, user=ada, reason="Spam", actor=OPERATOR, **more)
