"""Lists of `grader.client` with several pages, against a server."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from grader.models import DataFile
from grader.services.competitions import lookup
from grader.services.identity import administrators, api_tokens
from grader.services.identity.api_tokens import Scope
from grader.services.site import log
from tests.fixtures import crowds
from tests.fixtures.service import TESTS

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

TEAMS = 121  # three pages


MANY = 60  # two pages


@pytest.fixture
def site(service, live_site) -> Iterator[SimpleNamespace]:
    """A site on which each list has two pages, with the clients of a team and of an administrator."""
    for number in range(MANY - 1):
        service.competition(f"other-{number}")
    competition = service.competition(max_daily_submissions=MANY)
    for number in range(MANY):
        service.submit(competition, again=True)
        said = {"action": "team.rename", "subject": f"team {number}", "public_text": "Renamed a team."}
        service.act(log.record, competition=competition, **said)
        service.act(log.record, competition=None, **said)
    service.user("olga")
    with service.database.write() as session:
        olga = session.merge(service.user("olga"))
        live, now = lookup.get(session, slug="toxicity"), service.now
        start = now - timedelta(days=9)
        crowds.fill(session, competition=live, teams=MANY, files=MANY, start=start, end=now)
        for number in range(MANY):
            file = {"name": f"{number}.csv", "sha256": "0" * 64, "size_bytes": 1, "uploaded_at": now}
            session.add(DataFile(competition_id=live.id, **file))
        administrators.change(session, user=olga, is_admin=True, actor=TESTS, now=now)
        given = {"name": "desk", "scopes": tuple(Scope), "now": now}
        token = api_tokens.create(session, user=olga, **given)[1]
    given = {"competition": "toxicity"}
    with live_site.client(**given) as ada, live_site.client_of(token, **given) as admin:
        yield SimpleNamespace(ada=ada, admin=admin)


def test_every_list_continues_after_its_first_page(site):
    desk = site.admin.organize()
    lists: dict[str, Callable[[], Sequence[Any]]] = {
        "competitions": site.ada.competitions,
        "data files": site.ada.data_files,
        "own submissions": lambda: site.ada.submissions().submissions,
        "leaderboard": lambda: site.ada.leaderboard().rows,
        "rows of a search": lambda: site.ada.leaderboard(search="team").rows,
        "public log": lambda: joined(site.ada.pages_of("competitions/toxicity/log"), "entries"),
        "accounts": lambda: joined(site.admin.pages_of("people"), "people"),
        "log of the site": lambda: joined(site.admin.pages_of("audit", action="team"), "entries"),
        "log of the competition": lambda: joined(desk.pages("audit", action="team"), "entries"),
        "teams": lambda: joined(desk.pages("teams"), "teams"),
        "submissions of all teams": lambda: joined(desk.pages("submissions"), "submissions"),
    }
    lengths = {name: len(read()) for name, read in lists.items()}
    others = {
        "rows of a search": MANY - 4,  # four names are Cyrillic
        "teams": MANY + len(["ada"]),
        "public log": MANY + len(["publication"]),
        "accounts": MANY + len(["ada", "olga"]),
        "submissions of all teams": 2 * MANY,
    }
    assert lengths == dict.fromkeys(lists, MANY) | others


def joined(pages: Iterable[dict[str, Any]], name: str) -> list[Any]:
    return [each for page in pages for each in page[name]]
