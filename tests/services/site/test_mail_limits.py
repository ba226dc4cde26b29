"""Limits on invitation links and merge requests."""

from datetime import timedelta

import pytest

from grader.services.site import mail_limits as limits
from grader.services.site.mail_limits import TooMuchMail
from grader.services.teams import invitations, mergers, teams

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


@pytest.fixture
def ask(service):
    """Send a merge request and withdraw it."""

    def send(name: str, at: timedelta = timedelta(), by: str = "ada"):
        given = {"competition": service.reload(competition), "user": service.user(by), "after": at}
        made = service.act(mergers.request, name=name, **given)
        service.act(mergers.withdraw, request_id=made.id, **given)

    competition = service.competition(max_team_size=30)
    for name in ("ada", "bob", "cem"):
        given = {"competition": competition, "user": service.user(name)}
        service.act(teams.create, name=name, **given)
    send.competition = competition
    return send


def test_user_sends_at_most_three_merge_requests_a_day_to_one_leader_including_withdrawals(ask):
    for place in range(3):
        ask("bob", place * MINUTE)
    with pytest.raises(TooMuchMail) as refused:
        ask("bob", 10 * MINUTE)
    assert refused.value.retry_after == DAY - 10 * MINUTE
    ask("cem", 10 * MINUTE)
    ask("bob", DAY)


def test_team_sends_at_most_ten_merge_requests_a_day(service, ask):
    for place in range(11):
        given = {"competition": ask.competition, "user": service.user(f"user {place}")}
        service.act(teams.create, name=f"team {place}", **given)
    for place in range(10):
        ask(f"team {place}")
    with pytest.raises(TooMuchMail):
        ask("team 10")
    ask("team 10", DAY)


def test_links_into_a_team_are_counted(service, ask):
    given = {"competition": ask.competition, "user": service.user("ada")}
    for _ in range(limits.LINKS[0].count):
        service.act(invitations.make_link, **given)
    with pytest.raises(TooMuchMail):
        service.act(invitations.make_link, **given)
