"""Pagination: pages past the end, cursors, and errors for invalid page numbers."""

from itertools import product

import pytest

HERE = "/competitions/toxicity"
API = "/api/v1"
LISTS = [f"{API}{HERE}/leaderboard{query}" for query in ("", "?split=private", "?sort=team", "?q=n")]
PAGES = (
    "/",
    f"{HERE}/leaderboard",
    f"{HERE}/leaderboard?q=n&sort=team&order=asc",
    f"{HERE}/leaderboard/private",
)


@pytest.fixture
def people(make_arena, database_url):
    """Ann, who has a submission in a finished competition, and an administrator."""
    arena = make_arena(database_url=database_url)
    arena.competition()
    ann, root = arena.person("Ann"), arena.person("Root", is_admin=True)
    arena.submit(ann, arena.truth.predictions())
    arena.score_all()
    arena.reveal()
    return ann, root


def with_page(address, page):
    return f"{address}{'&' if '?' in address else '?'}page={page}"


def test_invalid_parameters_return_400_and_are_named(people):
    ann, root = people
    api, lists = ann.arena.app.test_client(), [f"{API}/competitions", f"{API}{HERE}/submissions"]
    numbers = ("x", "-1", "1.5", "2147483648", "9" * 5000, "1%00")
    for addresses, name, values in (
        (LISTS, "page", (*numbers, "0", "1e3")),
        (lists, "cursor", numbers),
        (lists, "page", ("2",)),
        ([*LISTS, *lists, f"{API}{HERE}/log"], "per_page", ("0", "201", "-1", "x", "1.5", "true")),
    ):
        for address, value in product(addresses, values):
            answer = api.get(f"{address}{'&' if '?' in address else '?'}{name}={value}", headers=ann.bearer)
            assert (answer.status_code, answer.json["error"]) == (400, "unreadable"), (address, value)
            assert answer.json["message"].startswith(f"`{name}`"), (address, value)
    for address in PAGES:
        assert root.browser.get(with_page(address, "x")).status_code == 400, address


def test_a_page_past_the_end_shows_a_message_and_links_to_the_last_page(people):
    for address in PAGES:
        browser = people[1].browser
        past = browser.get(with_page(address, 99))
        assert past.status_code == 200, address
        assert "Page 99 does not exist. The list has 1 page." in " ".join(past.text.split()), address
        link = past.text.partition('">Go to the last page')[0].rpartition('href="')[2].replace("&amp;", "&")
        last = browser.get(link)
        assert "does not exist" not in last.text, link
        assert last.text.count("<li>") + last.text.count("<tr") > 1, link
        assert link.partition("?")[0] == address.partition("?")[0]
        assert all(asked in link for asked in address.partition("?")[2].split("&")), link


def test_an_api_list_neither_repeats_nor_skips_rows_while_rows_are_added(people):
    ann, _ = people
    arena, api = ann.arena, ann.arena.app.test_client()
    arena.competition(slug="second")
    numbers = [arena.submit(ann, arena.truth.predictions(seed=seed), slug="second") for seed in range(5)]
    address: str | None = f"{API}/competitions/second/submissions?per_page=2"
    seen: list[int] = []
    while address:
        answer = api.get(address, headers=ann.bearer).json
        seen += [each["id"] for each in answer["submissions"]]
        address = answer["next"]
        arena.submit(ann, arena.truth.predictions(seed=100 + len(seen)), slug="second")
    assert seen == sorted(numbers, reverse=True)


def test_the_parts_of_a_page_are_those_of_its_operation(people):
    ann, root = people
    arena = ann.arena
    for name in ("Ben", "Jan", "Nan"):
        arena.submit(arena.person(name), arena.truth.predictions())
    address: str | None = f"{HERE}/organize/teams?q=n&per_page=2"
    parts = []
    while address:
        assert root.browser.get(address).status_code == 200
        told = root.browser.get(address, headers={"Accept": "application/json"}).json
        parts.append([each["name"] for each in told["teams"]])
        address = told["next"]
    assert parts == [["Nan", "Jan"], ["Ben", "Ann"]]
    assert "Start of the list" in root.browser.get(f"{HERE}/organize/teams?cursor=2").text
    assert root.browser.get(f"{HERE}/organize/teams?cursor=x").status_code == 400
