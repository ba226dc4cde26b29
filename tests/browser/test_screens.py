"""Participants' pages with submissions in every state."""

import random
from dataclasses import dataclass
from datetime import timedelta

import pytest

from grader import db
from grader.models import EntryMode
from grader.services.accounts import administrators
from grader.services.competitions import acting, lookup
from grader.services.jobs.leased_rows import Breakdown
from grader.services.scoring import jobs
from grader.services.submissions import accepting
from grader.services.teams import invitations, mergers, rosters, teams

pytestmark = pytest.mark.browser
TEAMS = 20
OVERVIEW = """
Online discussions need models that find harmful comments. Such models often learn that the **mention** of an
identity is itself a sign of harm, because in their training data it too often is.

## The task

Predict for each comment how likely people find it harmful. Read [the paper](https://arxiv.org/abs/1903.04561).

- one prediction per comment
- any model, any data
"""


RULES = """
## Fair play

One account per person. No sharing of code or predictions **outside** your team.
"""


@dataclass(frozen=True)
class Paths:
    """The paths of the pages to check, for visitors and for one member."""

    strangers: dict[str, str]
    member: dict[str, str]
    cookie: str


def populate(live) -> Paths:
    """Add two competitions, many teams, and submissions in every state to the site."""
    live.competition("old", title="Last year's toxicity")
    live.competition(
        title="Unintended bias in toxicity",
        overview=OVERVIEW,
        closes_at=live.now() + timedelta(days=20, hours=3),
    )
    live.competition("asked", title="Only who is let in", rules=RULES, entry_mode=EntryMode.APPROVAL)
    ann = live.person("Ann")
    dice = random.Random(5)
    for place in range(TEAMS):
        person = live.person(f"Team {place}" if place else "A team whose name is longer than any table likes")
        noise, slug = 1.2 + 3 * dice.random(), "old" if place % 5 == 0 else "toxicity"
        _accept(live, person, live.truth.predictions(noise=noise, seed=place), slug)
    fates = {"old": _accept(live, ann, live.truth.predictions(noise=2), "old")}
    _accept(live, ann, live.truth.predictions(noise=2.2, seed=8))
    fates["scored"] = _accept(live, ann, live.truth.predictions(noise=1.9, seed=9), description="n-grams")
    fates["rejected"] = _accept(live, ann, _broken(live.truth.predictions()), file_name="broken.csv")
    live.score_all()
    fates["failed"] = _accept(live, ann, live.truth.predictions(), break_it=True)
    fates["pending"] = _accept(live, ann, live.truth.predictions(noise=1.8, seed=10))
    invitation = _make_teams(live, ann)
    live.reveal("old")
    here = "/competitions/toxicity"
    with live.database.write() as session:
        old = lookup.get(session, slug="old")
        old_team = rosters.require_team(session, competition=old, user=ann.user).id
        setup_token = administrators.create_setup_link(session, now=db.now(session))
    strangers = {
        "competitions": "/",
        "overview": here,
        "leaderboard": f"{here}/leaderboard",
        "login": "/login",
        "sign-up": "/sign-up",
        "setup": f"/setup/{setup_token}",
        "missing": "/competitions/nothing",
        "design": "/design",
        "team-link": f"{here}/team/link/{invitation}",
    }
    member = {
        "submissions": f"{here}/submissions",
        **{f"submission-{fate}": f"{here}/submissions/{fates[fate]}" for fate in fates if fate != "old"},
        "submission-revealed": f"/competitions/old/submissions/{fates['old']}",
        "submissions-closed": "/competitions/old/submissions",
        "leaderboard-own": f"{here}/leaderboard?page=1",
        "leaderboard-sorted": f"{here}/leaderboard?sort=bpsn_auc&q=team",
        "leaderboard-private": "/competitions/old/leaderboard/private",
        "leaderboard-counted": f"/competitions/old/leaderboard/private/{fates['old']}",
        "results": "/competitions/old/results",
        "account": "/account",
        "team": f"{here}/team",
        "certificate": f"/competitions/old/teams/{old_team}/certificate",
        "compare": f"{here}/submissions/compare?candidate={fates['scored']}&baseline={fates['scored'] - 1}",
        "team-none": "/competitions/asked/team",
        "team-invitation": f"{here}/team/link/{invitation}",
        "rules": "/competitions/asked/join",
    }
    cookie = ann.browser.get_cookie("fairboard_login")
    return Paths(strangers, member, cookie.value)


def _make_teams(live, ann) -> str:
    """Request a merger with Ann's team and return an invitation link to Bob's team."""
    bob, dan = live.person("Bob"), live.person("Dan")
    with live.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        teams.create(
            acting.as_person(session, competition, bob.user),
            name="The Analytical Engines",
        )
        mergers.request(acting.as_person(session, competition, bob.user), name="Ann")
        invitations.invite(acting.as_person(session, competition, ann.user), name=dan.user.name)
        return invitations.make_link(acting.as_person(session, competition, bob.user))


def _accept(
    live,
    person,
    file: bytes,
    slug: str = "toxicity",
    *,
    file_name: str = "predictions.csv",
    description: str = "",
    break_it: bool = False,
) -> int:
    """Record a submission without sending a hint; `break_it` makes its job fail with a server error."""

    with live.database.write() as session:
        accepted = accepting.accept(
            session,
            competition=lookup.get(session, slug=slug),
            user=person.user,
            blob=live.storage.put(file),
            file_name=file_name,
            description=description,
        )
    for _ in range(jobs.LIMITS.errors if break_it else 0):
        with live.database.write() as session:
            later = db.now(session) + timedelta(hours=1)
            claim = jobs.claim(session, job_id=accepted.job_ids[0], lease=timedelta(seconds=40), now=later)
            jobs.record(
                session,
                job_id=claim.job_id,
                token=claim.token,
                outcome=Breakdown("7F3A90B1"),
                now=db.now(session),
            )
    return accepted.submission.id


def _broken(file: bytes) -> bytes:
    lines = file.decode().splitlines()
    lines[3] = lines[3].split(",")[0] + ",nan"
    lines[8] = lines[8].split(",")[0] + ",0,5"
    lines[9] = lines[9].split(",")[0] + ",0,7"
    lines[20] = "abc,0.5"
    return ("\n".join([*lines, lines[40], lines[41]]) + "\n").encode()
