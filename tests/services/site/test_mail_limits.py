"""E-mail limits for repeated invitations, withdrawals and requests."""

from datetime import timedelta

import pytest

from grader.services.site import mail_limits as limits
from grader.services.site.mail_limits import TooMuchMail
from grader.services.teams import invitations, mergers, teams

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


@pytest.fixture
def competition(service):
    competition = service.competition(max_team_size=30)
    service.submit(competition)
    return competition


def invite(service, competition, name: str, at: timedelta = timedelta(), by: str = "ada"):
    """Invite a user and withdraw the invitation."""
    service.user(name)
    given = {"competition": competition, "user": service.user(by), "after": at}
    made = service.act(invitations.invite, name=name, **given)
    service.act(invitations.withdraw, invite_id=made.id, **given)


def test_one_user_is_invited_at_most_three_times_a_day_including_withdrawals(service, competition):
    for place in range(3):
        invite(service, competition, "bob", place * MINUTE)
    with pytest.raises(TooMuchMail) as refused:
        invite(service, competition, "bob", 10 * MINUTE)
    assert refused.value.message == (
        "You have invited bob 3 times in a day, which is the limit. "
        "You can send the next one in 24 hours, at 2026-01-06 12:00:00 UTC."
    )
    assert refused.value.retry_after == DAY - 10 * MINUTE
    invite(service, competition, "cem", 10 * MINUTE)
    invite(service, competition, "bob", DAY)


def test_team_sends_at_most_twenty_invitations_a_day(service, competition):
    for place in range(20):
        invite(service, competition, f"person {place}")
    with pytest.raises(TooMuchMail, match="Your team has reached its limit of 20 invitations in a day"):
        invite(service, competition, "one more")
    invite(service, competition, "one more", DAY)


def test_user_who_repeatedly_creates_teams_has_a_limit_per_user(service):
    competition = service.competition(max_team_size=5)
    ada = service.user("ada")
    made = 0
    with pytest.raises(TooMuchMail, match=r"limit of (20|40) invitations in a day"):
        for round_ in range(9):
            service.act(teams.create, competition=competition, user=ada, name=f"Team {round_}")
            for place in range(10):
                invite(service, competition, f"person {round_} {place}")
                made += 1
            service.act(teams.leave, competition=competition, user=ada)
    assert made in (20, 40)  # SQLite reuses the id of a deleted team.


def test_user_sends_at_most_three_merge_requests_a_day_to_one_leader(service, competition):
    service.submit(competition, user="bob")

    def ask(at: timedelta):
        given = {"competition": competition, "user": service.user("ada"), "after": at}
        made = service.act(mergers.request, name="bob", **given)
        service.act(mergers.withdraw, request_id=made.id, **given)

    for place in range(3):
        ask(place * MINUTE)
    with pytest.raises(TooMuchMail, match="sent 3 merge requests to the leader of this team"):
        ask(3 * MINUTE)
    ask(DAY)


def test_links_into_a_team_are_counted(service, competition):
    given = {"competition": competition, "user": service.user("ada")}
    for _ in range(limits.LINKS[0].count):
        service.act(invitations.make_link, **given)
    with pytest.raises(TooMuchMail, match="50 invitation links in a day"):
        service.act(invitations.make_link, **given)


def test_name_with_braces_is_shown_unchanged(service, competition):
    for _ in range(3):
        invite(service, competition, "{0}{x}")
    with pytest.raises(TooMuchMail, match=r"You have invited \{0\}\{x\} 3 times"):
        invite(service, competition, "{0}{x}")
