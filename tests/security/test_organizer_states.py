"""Crawl of a competition's pages as its owner in seven states: no internal errors."""

import io
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update

from grader.models import Competition, OrganizerJob, ScoringVersion, Submission, SubmissionStatus
from tests.fixtures import routes
from tests.fixtures.desk import API, Desk
from tests.fixtures.walks import Asker, visits

pytestmark = pytest.mark.system

SLUG = routes.SLUG
DESK = f"{API}/competitions/{SLUG}/organize"
CSV = {"content_type": "text/csv"}


class Site(Desk):
    """The owner of one competition, with shortcuts that bring the competition into a state."""

    def change(self, **values):
        """Change columns of the competition."""
        with self.arena.database.write() as session:
            session.execute(update(Competition).where(Competition.slug == SLUG).values(**values))

    def check(self, solution):
        """Upload a solution and return the address of its check."""
        address = self("POST", f"{DESK}/solution", data=solution, **CSV, expect=202).json["url"]
        self.work()
        return str(address)

    def corrected(self):
        """Return the solution with 40 other labels."""
        header, *lines = self.arena.truth.solution().decode().splitlines()
        for number in range(40):
            row_id, label, rest = lines[number].split(",", 2)
            lines[number] = f"{row_id},{1 - int(label)},{rest}"
        return "\n".join([header, *lines]).encode()

    def rescore(self, **sent):
        """Prepare a rescoring with the changes of a check."""
        self("POST", f"{DESK}/rescoring", json={"reason": "Labels were wrong.", **sent}, expect=202)
        self.work()

    def open(self):
        """Publish and open the draft, which has a checked solution."""
        now = self.arena.now()
        self.change(contact="a@b.org", opens_at=now + timedelta(hours=1), closes_at=now + timedelta(days=90))
        self("POST", f"{DESK}/state/publish")
        self.change(opens_at=now - timedelta(hours=1))

    def close(self):
        """Let the deadline pass, and compute the private standings."""
        self.change(closes_at=self.arena.now() - timedelta(seconds=1))
        self.work()


def competition(site):
    site("POST", f"{API}/competitions", json={"slug": SLUG, "title": "Toxicity"}, expect=201)
    site.check(b"id,toxicity\n1,maybe\n1,\n")
    yield "with a rejected solution"
    site("POST", f"{site.check(site.arena.truth.solution())}/accept")
    data = {"file": (io.BytesIO(b"id,text\n1,hello\n"), "train.csv"), "description": "Comments"}
    site("POST", f"{DESK}/data", data=data, expect=201)
    site("POST", f"{DESK}/data/baseline", data=site.arena.truth.predictions(), **CSV, expect=201)
    site.work()
    site.check(site.corrected())
    yield "with a benchmark and another checked solution"
    site.open()
    sent = site.arena.submit(site.arena.person("Ann"), site.arena.truth.predictions(noise=0.9))
    site.work()
    with site.arena.database.write() as session:
        session.get_one(Submission, sent).status = SubmissionStatus.FAILED
    yield "open with a failed submission"
    with site.arena.database.write() as session:
        session.get_one(Submission, sent).status = SubmissionStatus.SCORED
    site.rescore(solution=site("GET", site.check(site.corrected())).json["job"]["id"])
    yield "with a prepared rescoring"
    site("POST", f"{DESK}/rescoring/2/publish", json={})
    in_use = site("GET", f"{DESK}/rescoring/settings").json
    changed = {"identities": in_use["identities"], "metric": {**in_use["metric"], "power": -3}}
    site("POST", f"{DESK}/rescoring/settings", json=changed, expect=202)
    site.work()
    site.rescore(settings=site("GET", f"{DESK}/rescoring/settings").json["check"]["id"])
    site("POST", f"{DESK}/rescoring/3/publish", json={})
    yield "with published settings"
    site.close()
    site("POST", f"{DESK}/close/reveal")
    site("POST", f"{DESK}/close/solution")
    site.work()
    yield "with a published solution"


def competition_without_submissions(site):
    site("POST", f"{API}/competitions", json={"slug": SLUG, "title": "Toxicity"}, expect=201)
    site("POST", f"{site.check(site.arena.truth.solution())}/accept")
    site.open()
    site.close()
    yield "settled without submissions"


@pytest.mark.parametrize("states", [competition, competition_without_submissions])
def test_no_page_fails_for_an_organizer_in_any_state(make_arena, states, monkeypatch):
    arena = make_arena()
    site = Site(arena.person("Olga", is_admin=True))
    world: Any = SimpleNamespace(arena=arena)
    broken = []
    for state in states(site):
        for name, ids in _ids(site):
            monkeypatch.setitem(routes.ARGUMENTS, name, ids)
        with Asker(world, site.person) as asker:
            for method, path, _ in visits(world):
                if method == "GET" and path.startswith(f"/competitions/{SLUG}/organize"):
                    told = asker.get(path)
                    if told.startswith("5"):
                        broken.append(f"{state}: {path} {told[:3]}")
    assert not broken, "\n".join(broken)


def _ids(site):
    """Yield the ids of the competition's last rows for the arguments of addresses."""
    columns = {"job_id": OrganizerJob.id, "number": ScoringVersion.number, "submission_id": Submission.id}
    with site.arena.database.read() as session:
        for name, column in columns.items():
            yield name, tuple(session.scalars(select(column).order_by(column)).all()[-2:]) or (1,)
    yield "team_id", (1,)
