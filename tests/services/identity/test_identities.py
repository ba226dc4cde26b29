"""Identities in the database: arrival, new accounts, concurrency and expiry."""

from datetime import timedelta
from functools import partial

import pytest
from pydantic import SecretStr
from sqlalchemy import delete, func, select

from grader.models import Identity, User
from grader.services.identity import identities, logins
from tests.fixtures.races import race
from tests.fixtures.refusals import refused

CAMPUS = '[campus]\nlabel = "Campus"\nissuer = "https://id.example"\nclient_id = "f"\n'
CLAIMS = {"sub": "17", "email": "ada@example.org", "email_verified": True, "role": "student", "phone": "1"}


@pytest.fixture
def settings(make_settings):
    return make_settings(oidc_providers=SecretStr(CAMPUS))


def arrive(service, *, after=timedelta(), **claims):
    with service.database.write() as session:
        return identities.arrive(
            session,
            provider=service.settings.providers()[0],
            claims=CLAIMS | claims,
            settings=service.settings,
            now=service.now + after,
        ).id


def sign_up(service, name, *, arrived=timedelta(), after=timedelta(), subject="17"):
    with service.database.write() as session:
        about = {"provider": service.settings.providers()[0], "now": service.now + after}
        at = service.now + arrived
        identity = identities.pending(session, subject=subject, arrived_at=at, **about)
        given = {"identity": identity, "name": name, "is_admin": None, "settings": service.settings}
        return identities.sign_up(session, **given, **about).name


def test_an_identity_without_an_account_expires(service):
    arrive(service)
    with refused("unknown_identity"):
        sign_up(service, "ada", after=logins.IDENTITY_PENDING)
    arrive(service, after=timedelta(minutes=1), sub="18")
    with service.database.write() as session:
        session.execute(delete(Identity).where(logins.is_old_identity(service.now + logins.IDENTITY_PENDING)))
    arrive(service, after=logins.IDENTITY_PENDING, sub="19")
    with service.database.read() as session:
        assert set(session.scalars(select(Identity.subject))) == {"18", "19"}
    with refused("unknown_identity"):  # The row of 19 may have the id that 17 had.
        sign_up(service, "ada", after=logins.IDENTITY_PENDING)


def test_only_the_newest_arrival_can_create_the_account(service):
    later = timedelta(minutes=1)
    arrive(service)
    arrive(service, after=later)
    with refused("unknown_identity"):
        sign_up(service, "ada", after=later)
    assert sign_up(service, "ada", arrived=later, after=later) == "ada"


def test_concurrent_sign_ups_of_one_identity_create_one_account(service):
    arrive(service)
    found = race(*(partial(sign_up, service, f"ada {each}") for each in range(4)))
    assert sum(isinstance(each, str) for each in found) == 1
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(User)) == 1


def test_concurrent_arrivals_of_one_person_store_one_identity(service):
    assert len(set(race(*[partial(arrive, service)] * 4))) == 1


def test_an_account_has_one_identity_per_provider(service):
    arrive(service)
    sign_up(service, "ada")
    with service.database.read() as session:
        ada = session.scalars(select(User)).one()
    with refused("linked_elsewhere"), service.database.write() as session:
        identities.link(
            session,
            user=ada,
            provider=service.settings.providers()[0],
            claims=CLAIMS | {"sub": "18"},
            settings=service.settings,
            now=service.now,
        )
