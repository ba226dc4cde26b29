"""Several accounts of one person: shared limits and rejections, expiry of the hashes."""

from datetime import timedelta

import pytest
from pydantic import SecretStr
from sqlalchemy import select

from grader.models import KeptIdentity, LinkPurpose, TeamMember, User
from grader.services.competitions import acting
from grader.services.identity import accounts, email_addresses, identities, one_time_links
from grader.services.site.log import Actor
from grader.services.teams import invitations, mergers, participations, teams
from grader.worker.scheduled_tasks import forget_records
from tests.fixtures.races import race
from tests.fixtures.refusals import is_refusal, refused
from tests.services.identity.test_identities import CAMPUS, arrive
from tests.services.identity.test_identities import sign_up as sign_up_at_campus

DAY = timedelta(days=1)
SECRET = "s" * 40


@pytest.fixture
def settings(make_settings):
    return make_settings(oidc_providers=SecretStr(CAMPUS), secret_key=SecretStr(SECRET))


@pytest.fixture
def sign_up(service):
    """Create an account at the provider, always for the same subject."""

    def create(name: str, subject: str = "17"):
        arrive(service, sub=subject, email=None)
        sign_up_at_campus(service, name, subject=subject)
        with service.database.read() as session:
            service.users[name] = session.scalars(select(User).where(User.name == name)).one()

    return create


def delete(service, name):
    service.act(accounts.delete_account, user=service.user(name), secret=SECRET)


def unlink(service, name):
    """Unlink the account's identity after its user has set a password."""
    with service.database.write() as session:
        user = session.get_one(User, service.user(name).id)
        user.password_hash = "hash"
        identity = identities.own(session, user=user)[0]
        act = acting.of_site(session, Actor.of(user), service.now)
        identities.unlink(act, user=user, identity_id=identity.id, settings=service.settings)


LEAVE = [delete, unlink]


@pytest.mark.parametrize("leave", LEAVE)
def test_limits_hold_for_a_new_account_of_the_person(service, sign_up, act, leave):
    competition = service.competition(max_daily_submissions=1)
    sign_up("first")
    service.submit(competition, user="first")
    leave(service, "first")
    sign_up("second")
    act(teams.create, competition, "ada", name="Other")
    link = act(invitations.make_link, competition, "ada")
    for attempt in (
        lambda: service.submit(competition, user="second"),
        lambda: service.submit(competition, user="second", after=DAY),
        lambda: act(teams.create, competition, "second", name="Another"),
        lambda: act(invitations.accept_link, competition, "second", token=link),
    ):
        with refused("competes_elsewhere"):
            attempt()
    delete(service, "second")
    sign_up("third")
    with refused("competes_elsewhere"):
        service.submit(competition, user="third")


@pytest.mark.parametrize("leave", LEAVE)
def test_rejection_of_a_person_applies_to_other_accounts(service, sign_up, act, leave):
    competition = service.competition()
    sign_up("first")
    decide = {"competition": competition, "actor": Actor(None, "tests")}
    service.act(participations.decide, user=service.user("first"), admits=False, **decide)
    leave(service, "first")
    sign_up("second")
    for attempt in (
        lambda: service.submit(competition, user="second"),
        lambda: act(participations.join, competition, "second"),
        lambda: act(teams.create, competition, "second", name="Team"),
    ):
        with refused("not_admitted"):
            attempt()
    service.act(participations.decide, user=service.user("second"), admits=True, **decide)
    service.submit(competition, user="second")


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_only_one_of_the_present_accounts_of_a_person_can_compete(service, sign_up, act, order):
    competition = service.competition()
    sign_up("first")
    unlink(service, "first")
    sign_up("second")
    for name in order:
        act(teams.create, competition, name, name=f"Team {name}")
    act(teams.create, competition, "cleo", name="Team cleo")
    link = act(invitations.make_link, competition, order[1])
    act(invitations.accept_link, competition, "dan", token=link)
    service.submit(competition, user=order[0])
    for member in (order[1], "dan"):
        with refused("competes_elsewhere"):
            service.submit(competition, user=member)
    with refused("competes_elsewhere"):
        act(mergers.request, competition, "cleo", name=f"Team {order[1]}")
    act(mergers.request, competition, order[1], name=f"Team {order[0]}")


def test_one_of_two_first_files_of_a_person_is_accepted(service, sign_up):
    competition = service.competition()
    sign_up("first")
    unlink(service, "first")
    sign_up("second")
    results = race(
        lambda: service.submit(competition, user="first"), lambda: service.submit(competition, user="second")
    )
    assert sorted(is_refusal(each, "competes_elsewhere") for each in results) == [False, True]


def test_former_address_identifies_the_person(service, act):
    competition = service.competition(max_daily_submissions=1)
    passwords = accounts.password_hasher(service.settings)

    def by_mail(name: str, address: str):
        with service.database.write() as session:
            token = one_time_links.create(
                session, purpose=LinkPurpose.SIGN_UP, address=address, now=service.now
            )
            service.users[name] = accounts.sign_up_by_link(
                session, token=token, name=name, password="correct horse battery", passwords=passwords,
                secret=SECRET, now=service.now,
            )  # fmt: skip

    by_mail("first", "Ada@example.org")
    service.submit(competition, user="first")
    with service.database.write() as session:
        token = one_time_links.create(
            session, purpose=LinkPurpose.VERIFY_EMAIL, user=service.user("first"), address="b@example.org",
            now=service.now,
        )  # fmt: skip
        email_addresses.verify(session, token=token, secret=SECRET, now=service.now)
    by_mail("second", "ada@EXAMPLE.org")
    with refused("competes_elsewhere"):
        service.submit(competition, user="second")
    delete(service, "first")
    with refused("competes_elsewhere"):
        service.submit(competition, user="second")
    by_mail("third", "b@example.org")
    with refused("competes_elsewhere"):
        service.submit(competition, user="third")
    by_mail("stranger", "c@example.org")
    service.submit(competition, user="stranger")


def test_hashes_of_deleted_accounts_are_kept_until_the_reveal(service, sign_up):
    competition = service.competition()
    for name in ("outsider", "member"):
        sign_up(name, subject=name)
    service.submit(competition, user="member")
    for name in ("outsider", "member"):
        delete(service, name)

    def kept() -> list[int]:
        forget_records(service.database)
        with service.database.read() as session:
            hashes = session.scalars(select(KeptIdentity.identity_hash)).all()
            assert not any("member" in each or len(each) != 64 for each in hashes)
            return list(session.scalars(select(KeptIdentity.user_id)))

    assert kept() == [service.user("member").id]
    with service.database.write() as session:
        session.get_one(type(competition), competition.id).revealed_at = service.now
    assert kept() == []


def test_accounts_without_files_bind_nobody(service, sign_up, act):
    competition = service.competition()
    sign_up("first")
    act(teams.create, competition, "first", name="Team")
    delete(service, "first")
    sign_up("second")
    service.submit(competition, user="second")
    with service.database.read() as session:
        assert len(set(session.scalars(select(TeamMember.team_id)))) == 2
