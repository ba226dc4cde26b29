"""Crawl of a competition's addresses as its owner in each state: no internal errors."""

import io
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update

from grader.models import (
    Competition,
    JobState,
    OrganizerJob,
    ScoringVersion,
    Submission,
    SubmissionStatus,
)
from tests.fixtures import routes
from tests.fixtures.desk import API, Desk
from tests.fixtures.walks import Asker, visits

pytestmark = pytest.mark.system

SLUG = routes.SLUG
DESK = f"{API}/competitions/{SLUG}/organize"
HOUR = timedelta(hours=1)
# The states whose pages the short run requests: each page has its most contents in one of them.
IN_THE_SHORT_RUN = (
    "with a rejected solution",
    "with a benchmark and another checked solution",
    "open with a failed submission",
    "with a prepared rescoring",
    "with published settings",
    "settled without submissions",
    "with a published solution",
)
ERRORS_ON_PURPOSE = ("501", "503", "507")


class Site(Desk):
    """The owner of one competition, with shortcuts that bring the competition into a state."""

    def __init__(self, person: Any):
        super().__init__(person)
        self.people: dict[str, Any] = {}

    def change(self, **values: Any):
        """Change columns of the competition."""
        with self.arena.database.write() as session:
            session.execute(update(Competition).where(Competition.slug == SLUG).values(**values))

    def set_status(self, submission_id: int, status: SubmissionStatus):
        with self.arena.database.write() as session:
            session.get_one(Submission, submission_id).status = status

    def check(self, solution: bytes, *, work: bool = True) -> str:
        """Upload a solution and return the address of its check."""
        begun = self("POST", f"{DESK}/solution", data=solution, content_type="text/csv", expect=202)
        if work:
            self.work()
        return str(begun.json["url"])

    def publish(self):
        self("POST", f"{DESK}/state/publish")

    def corrected(self) -> bytes:
        header, *lines = self.arena.truth.solution().decode().splitlines()
        for number in range(40):
            cells = lines[number].split(",")
            lines[number] = ",".join([cells[0], str(1 - int(cells[1])), *cells[2:]])
        return "\n".join([header, *lines]).encode()

    def submit(self, name: str, noise: float) -> int:
        if name not in self.people:
            self.people[name] = self.arena.person(name)
        return self.arena.submit(self.people[name], self.arena.truth.predictions(noise=noise))

    def rescore(self, **sent: Any):
        """Start a rescoring, by default with a corrected solution."""
        sent = sent or {"solution": self("GET", self.check(self.corrected())).json["job"]["id"]}
        self("POST", f"{DESK}/rescoring", json={"reason": "Labels were wrong.", **sent}, expect=202)


def drafts(site: Site) -> Iterator[str]:
    site("POST", f"{API}/competitions", json={"slug": SLUG, "title": "Toxicity"}, expect=201)
    yield "without a solution"
    site.check(site.arena.truth.solution(), work=False)
    yield "with an unfinished check"
    with site.arena.database.write() as session:
        session.scalars(select(OrganizerJob)).one().state = JobState.FAILED
    yield "with a failed check"
    site.check(b"id,toxicity\n1,maybe\n1,\n")
    yield "with a rejected solution"
    checked = site.check(site.arena.truth.solution())
    yield "with a checked solution"
    site("POST", f"{checked}/accept")
    yield "with an accepted solution"
    data = {"file": (io.BytesIO(b"id,text\n1,hello\n"), "train.csv"), "description": "Comments"}
    site("POST", f"{DESK}/data", data=data, expect=201)
    yield "with an unchecked data file"
    site.work()
    sent = {"data": site.arena.truth.predictions(), "content_type": "text/csv"}
    site("POST", f"{DESK}/data/baseline", expect=201, **sent)
    yield "with a waiting benchmark"
    site.work()
    site.check(site.corrected())
    yield "with a benchmark and another checked solution"


def competitions(site: Site) -> Iterator[str]:
    next(item for item in drafts(site) if item == "with an accepted solution")
    now = site.arena.now()
    site.change(contact="x", opens_at=now + HOUR, closes_at=now + 90 * 24 * HOUR, **WIDE)
    site.publish()
    yield "published"
    site.change(opens_at=now - HOUR)
    yield "open without submissions"
    rejected = site.check(b"id,toxicity\n1,maybe\n")
    assert site("GET", rejected).json["why_not"]
    yield "open with a rejected correction"
    sent = site.submit("Ann", 0.9)
    yield "open with a waiting submission"
    site.work()
    site.set_status(sent, SubmissionStatus.FAILED)
    yield "open with a failed submission"
    site.set_status(sent, SubmissionStatus.SCORED)
    site.submit("Bob", 1.4)
    site.work()
    site("POST", f"{DESK}/pause", json={"message": "Maintenance"})
    yield "paused"
    site("POST", f"{DESK}/resume", json={})
    site.check(site.corrected())
    yield "with a checked correction"
    site.rescore()
    yield "while a rescoring is being prepared"
    site.arena.score_all()
    yield "with a prepared rescoring"
    site("DELETE", f"{DESK}/rescoring/2", expect=204)
    yield "with a cancelled rescoring"
    site.rescore()
    site.work()
    site("POST", f"{DESK}/rescoring/3/publish", json={})
    yield "with a published rescoring"
    site("POST", f"{DESK}/rescoring/1/rollback", json={"reason": "It was wrong."})
    yield "with a rescoring that was rolled back"
    in_use = site("GET", f"{DESK}/rescoring/settings").json
    metric = {**in_use["metric"], "power": -3}
    changed = {"identities": in_use["identities"], "metric": metric}
    site("POST", f"{DESK}/rescoring/settings", json=changed, expect=202)
    yield "with an unfinished settings check"
    site.work()
    yield "with checked settings"
    settings_check = site("GET", f"{DESK}/rescoring/settings").json["check"]["id"]
    site.rescore(settings=settings_check)
    site.work()
    site("POST", f"{DESK}/rescoring/4/publish", json={})
    yield "with published settings"
    with site.arena.database.write() as session:
        for check in session.scalars(select(OrganizerJob).where(OrganizerJob.id == settings_check)):
            check.state, check.result, check.problems = (
                JobState.REJECTED,
                {},
                [{"code": "x", "message": "X."}],
            )
    yield "with rejected settings"
    yield from closes(site)


def closes(site: Site) -> Iterator[str]:
    site.submit("Ann", 0.8)
    site.change(closes_at=site.arena.now() - timedelta(seconds=1))
    yield "closed"
    site.work()
    yield "settled"
    site("POST", f"{DESK}/close/reveal")
    yield "revealed"
    site("POST", f"{DESK}/close/solution")
    site.work()
    yield "with a published solution"
    site("POST", f"{DESK}/state/archive", json={})
    yield "archived"


def competitions_without_submissions(site: Site) -> Iterator[str]:
    states = competitions(site)
    next(item for item in states if item == "open without submissions")
    site.rescore()
    yield "open with a rescoring of nothing"
    site.work()
    site("POST", f"{DESK}/rescoring/2/publish", json={})
    site.change(closes_at=site.arena.now() - timedelta(seconds=1))
    yield "closed without submissions"
    site.work()
    yield "settled without submissions"
    site("POST", f"{DESK}/close/reveal")
    site("POST", f"{DESK}/state/archive", json={})
    yield "archived without submissions"


WIDE = {"max_daily_submissions": None, "max_total_submissions": None, "max_pending_submissions": 1000}


@pytest.mark.parametrize("states", [drafts, competitions, competitions_without_submissions])
@pytest.mark.parametrize("part", ["pages", pytest.param("everything", marks=pytest.mark.long)])
def test_no_address_fails_for_an_organizer_in_any_state(
    make_arena: Callable[..., Any], states: Callable[[Site], Iterator[str]], part: str, monkeypatch
):
    arena = make_arena()
    site = Site(arena.person("Olga", is_admin=True))
    world: Any = SimpleNamespace(arena=arena)
    broken = []
    for state in states(site):
        if part == "pages" and state not in IN_THE_SHORT_RUN:
            continue
        for name, ids in _ids(site):
            monkeypatch.setitem(routes.ARGUMENTS, name, ids)
        with Asker(world, site.person) as asker:
            for method, path, visit in visits(world):
                is_page = method == "GET" and path.startswith(f"/competitions/{SLUG}/organize")
                if is_page or (part == "everything" and f"/{SLUG}" in path):
                    is_read = method == "GET"
                    told = asker.get(path) if is_read else asker.post(path, visit.form(), method=method)
                    if told.startswith("5") and not told.startswith(ERRORS_ON_PURPOSE):
                        broken.append(f"{state}: {method} {path} {told[:3]}")
    assert not broken, "\n".join(broken)


def _ids(site: Site) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the ids of the competition's rows for the arguments of addresses."""
    with site.arena.database.read() as session:
        jobs = session.scalars(select(OrganizerJob.id).order_by(OrganizerJob.id)).all()
        numbers = session.scalars(select(ScoringVersion.number).order_by(ScoringVersion.number)).all()
        submissions = session.scalars(select(Submission.id).order_by(Submission.id)).all()
    yield "job_id", tuple(jobs[-2:]) or (1,)
    yield "number", tuple(numbers[-2:]) or (1,)
    yield "submission_id", tuple(submissions[-1:]) or (1,)
    yield "team_id", (1,)
