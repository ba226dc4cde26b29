"""Competitions restricted to groups: domains of verified addresses and claims of providers."""

from datetime import timedelta

import pytest

from grader.identity_providers import Provider
from grader.models import Identity, User
from grader.services.audit.log import Actor
from grader.services.competitions import acting, settings, settings_warnings
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.submissions import refusal, situation
from grader.services.teams import admissions, invitations, participations, teams
from grader.services.teams.participations import NotInGroup, NotJoined


def join(service, competition, user: str = "ada", **given):
    who = service.user(user)
    return service.act(participations.join, competition=competition, user=who, **given)


def give_address(service, address: str, *, verified: bool, user: str = "ada"):
    who = service.user(user)
    with service.database.write() as session:
        person = session.get_one(User, who.id)
        person.email, person.email_verified_at = address, service.now if verified else None
        person.email_key = address.lower() if verified else None


def give_identity(service, *, user: str = "ada", email: str | None = None, provider="campus", **claims):
    who = service.user(user)
    with service.database.write() as session:
        session.add(
            Identity(
                user_id=who.id,
                provider=provider,
                issuer=f"https://{provider}.example",
                subject=f"{who.id}",
                email=email,
                claims=claims,
                linked_at=service.now,
                last_login_at=service.now,
            )
        )


@pytest.mark.parametrize(
    ("address", "is_verified", "groups", "may_join"),
    [
        ("ada@example.org", True, "@example.org", True),
        ("ada@EXAMPLE.org", True, "@other.example\n@Example.org", True),
        ("ada@example.org", False, "@example.org", False),
        ("ada@evil-example.org", True, "@example.org", False),
        ("ada@cs.example.org", True, "@example.org", False),
        ("ada@cs.example.org", True, "@*.example.org", True),
        ("ada@example.org", True, "@*.example.org", False),
        ("ada@evilexample.org", True, "@*.example.org", False),
        ("ada@example.org", True, "campus: role = student", False),
    ],
)
def test_only_verified_addresses_of_a_domain_may_join(
    service, address: str, is_verified: bool, groups: str, may_join: bool
):
    competition = service.competition(entry_groups=groups)
    give_address(service, address, verified=is_verified)
    if may_join:
        assert join(service, competition).joined_at
    else:
        with pytest.raises(NotInGroup, match="may join this competition"):
            join(service, competition)


@pytest.mark.parametrize(
    ("identity", "may_join"),
    [
        ({"role": ["staff", "student"]}, True),
        ({"role": ["staff"]}, False),
        ({"roles": ["student"]}, False),
        ({"role": ["student"], "provider": "library"}, False),
        ({"email": "ada@example.org"}, True),
        ({"email": "ada@example.net"}, False),
        ({}, False),
    ],
)
def test_an_identity_counts_with_its_claims_and_its_address(service, identity: dict, may_join: bool):
    competition = service.competition(entry_groups="campus: role = student\n@example.org")
    give_identity(service, **identity)
    give_identity(service, user="eve", role=["student"], email="eve@example.org")
    if may_join:
        assert join(service, competition).joined_at
    else:
        with pytest.raises(NotInGroup):
            join(service, competition)


def test_outsiders_can_neither_upload_nor_create_nor_enter_teams(service):
    competition = service.competition(entry_groups="@example.org")
    give_address(service, "ada@example.org", verified=True)
    join(service, competition)
    eve = service.user("eve")
    with service.database.write() as session:
        leader = acting.as_person(session, competition, service.user(), now=service.now)
        teams.create(leader, name="Members")
        token = invitations.make_link(leader)
        invited = invitations.invite(leader, name="eve").id
    for act in (
        lambda act: teams.create(act, name="Outsiders"),
        lambda act: invitations.accept_link(act, token=token),
        lambda act: invitations.accept(act, invite_id=invited),
    ):
        with pytest.raises(NotJoined), service.database.write() as session:
            act(acting.as_person(session, competition, eve, now=service.now))
    with service.database.read() as session:
        found = situation.read(session, slug=competition.slug, user=eve, now=service.now)
        assert isinstance(refusal.refusal(found), NotJoined)


def test_an_organizer_can_admit_someone_from_outside(service):
    competition = service.competition(entry_groups="@example.org")
    who = {"user": service.user(), "actor": Actor(None, "tests")}
    service.act(admissions.decide, competition=competition, admits=True, **who)
    assert join(service, competition).joined_at


def test_a_restriction_set_later_keeps_participants_and_appears_in_the_public_log(service):
    competition = service.competition()
    join(service, competition)
    service.act(
        settings.change,
        competition=competition,
        changes={"entry_groups": " @Example.org \r\n\n campus:role=student"},
        after=timedelta(hours=1),
    )
    stored = service.reload(competition)
    assert stored.entry_groups == "@Example.org\ncampus:role=student"
    assert join(service, competition).joined_at
    with pytest.raises(NotInGroup):
        join(service, competition, "eve")


@pytest.mark.parametrize("line", ["example.org", "@example", "@", "campus: role", "campus = role", ": a = b"])
def test_an_invalid_group_is_rejected_with_its_line(service, line: str):
    with pytest.raises(InvalidCompetition, match=r"is invalid\. Write a domain such as @example\.org"):
        service.competition(entry_groups=f"@example.org\n{line}")


def test_a_group_whose_claim_the_site_does_not_store_is_reported(service):
    groups = ("@example.org", "campus: role = student", "campus: rôle = student", "camqus: role = student")
    competition = service.competition(entry_groups="\n".join(groups))
    campus = Provider(
        slug="campus", label="C", issuer="https://id.example", client_id="f", group_claims=["role"]
    )
    found = settings_warnings.group_warnings(competition, [campus])
    assert [group for group in groups if any(group in each.sentence for each in found)] == list(groups[2:])
    assert all(each.names == ("entry_groups",) for each in found)
